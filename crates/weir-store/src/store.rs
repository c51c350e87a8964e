//! The pool: connecting under a role that can do little, migrating, opening transactions.

use std::str::FromStr;
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection as _, PgConnection, PgPool};

use crate::audit::chain::{self, ChainHead, ChainId, ChainReport};
use crate::convert::unsigned;
use crate::error::StoreError;
use crate::gates::GateBeat;
use crate::rulebook::{self, RulebookChanges};
use crate::tx::{Scope, Tx};

/// All migrations, embedded.
pub static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// A pool of connections under one role. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    pool: PgPool,
}

/// Under which database role to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The login's own role: migrates, and names operators.
    Owner,
    /// The control plane: one tenant or one person at a time.
    App,
    /// A gate: reads what the rulebook is built from, writes its heartbeat.
    Gate,
}

/// How many connections, and how long to wait for what.
#[derive(Debug, Clone, Copy)]
pub struct PoolSettings {
    /// At most so many connections.
    pub max_connections: u32,
    /// How long to wait for a connection.
    pub acquire_timeout: Duration,
    /// How long one statement may take; the owner's may take for ever.
    pub statement_timeout: Duration,
    /// How long to wait for a row's lock; the owner waits for ever.
    pub lock_timeout: Duration,
    /// How long a transaction may do nothing.
    pub idle_in_transaction_timeout: Duration,
}

/// A connection that rested so long is asked whether it is still there before it is used.
const ASKED_AFTER: Duration = Duration::from_secs(1);

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            max_connections: 10,
            acquire_timeout: Duration::from_secs(2),
            statement_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(2),
            idle_in_transaction_timeout: Duration::from_secs(10),
        }
    }
}

impl Store {
    /// Prepares a pool; connects when first asked, so a process can start while Postgres is away.
    ///
    /// Each connection takes on the role as it starts, so that the URL of a powerful login still
    /// runs without its power.
    pub fn connect(url: &str, role: Role, settings: &PoolSettings) -> Result<Self, StoreError> {
        let options = PgConnectOptions::from_str(url)
            .map_err(|error| StoreError::Corrupt {
                what: "the database URL cannot be read".to_owned(),
                source: Some(Box::new(error)),
            })?
            .options(startup_options(role, settings));
        let pool = PgPoolOptions::new()
            .max_connections(settings.max_connections)
            .acquire_timeout(settings.acquire_timeout)
            .test_before_acquire(false)
            .before_acquire(|conn, rested| Box::pin(answers(conn, rested.idle_for)))
            .connect_lazy_with(options);
        Ok(Self { pool })
    }

    /// Brings the schema up to date. Whoever comes second waits, then finds nothing to do.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        MIGRATOR.run(&self.pool).await.map_err(|error| match error {
            sqlx::migrate::MigrateError::Execute(error) => error.into(),
            other => StoreError::Corrupt { what: other.to_string(), source: Some(Box::new(other)) },
        })
    }

    /// Whether Postgres answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query_scalar!(
            r#"-- store.ping
            SELECT 1 AS "one!""#
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(())
    }

    /// Refuses a role that row-level security would not stop.
    pub async fn assert_confined(&self) -> Result<(), StoreError> {
        let row = sqlx::query!(
            r#"-- store.assert_confined
            SELECT
                r.rolname AS "role!",
                r.rolsuper OR r.rolbypassrls AS "unbound!",
                EXISTS (
                    SELECT FROM pg_class c
                    WHERE c.relowner = r.oid AND c.relkind IN ('r', 'p', 'v', 'm')
                ) AS "owner!"
            FROM pg_roles r
            WHERE r.rolname = current_user"#
        )
        .fetch_one(&self.pool)
        .await?;
        if row.unbound || row.owner {
            return Err(StoreError::corrupt(format!(
                "role {} is not confined by row-level security",
                row.role
            )));
        }
        Ok(())
    }

    /// Opens a transaction that sees what `scope` allows; `name` is shown in Postgres' activity.
    pub async fn begin(&self, name: &'static str, scope: Scope) -> Result<Tx, StoreError> {
        Tx::begin(self.pool.begin().await?, name, &scope).await
    }

    /// The newest rulebook version.
    pub async fn rulebook_version(&self) -> Result<u64, StoreError> {
        let version = sqlx::query_scalar!(
            "-- store.rulebook_version
            SELECT version FROM rulebook_versions"
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(unsigned(version))
    }

    /// What gates serve, as of one moment: all of it, or what changed after `since`.
    pub async fn load_rulebook(&self, since: Option<u64>) -> Result<RulebookChanges, StoreError> {
        let mut tx =
            self.pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let rows = rulebook::load(&mut tx, since).await?;
        tx.commit().await?;
        Ok(rows)
    }

    /// Writes a gate's heartbeat and answers how many gates live, this one included.
    pub async fn beat(&self, beat: &GateBeat, live_within: Duration) -> Result<u64, StoreError> {
        let mut tx = self.begin("gates.beat", Scope::Gate(beat.id)).await?;
        tx.gates().beat(beat).await?;
        let live = tx.gates().count_live(live_within).await?;
        tx.commit().await?;
        Ok(live)
    }

    /// Audit chains after this one, at most 1,000. For the owner's role.
    pub async fn audit_chains(&self, after: Option<ChainId>) -> Result<Vec<ChainId>, StoreError> {
        chain::chains(&mut *self.pool.acquire().await?, after).await
    }

    /// Verifies an audit chain as of one moment. For the owner's role.
    pub async fn verify_audit_chain(&self, id: ChainId) -> Result<ChainReport, StoreError> {
        let mut tx =
            self.pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let report = chain::verify(&mut tx, id).await?;
        tx.commit().await?;
        Ok(report)
    }

    /// Whether what was the head of an audit chain once is still part of it, or was purged. For the owner's role.
    pub async fn audit_chain_holds(
        &self,
        id: ChainId,
        head: &ChainHead,
    ) -> Result<bool, StoreError> {
        chain::holds(&mut *self.pool.acquire().await?, id, head).await
    }

    /// Closes every connection.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// Whether a connection of the pool is still good: one that was used a moment ago is not asked again, for that would be
/// one more question to Postgres in each transaction.
async fn answers(conn: &mut PgConnection, idle_for: Duration) -> Result<bool, sqlx::Error> {
    if idle_for < ASKED_AFTER {
        return Ok(true);
    }
    Ok(conn.ping().await.is_ok())
}

fn startup_options(role: Role, settings: &PoolSettings) -> Vec<(&'static str, String)> {
    let ms = |duration: Duration| duration.as_millis().to_string();
    let mut options =
        vec![("idle_in_transaction_session_timeout", ms(settings.idle_in_transaction_timeout))];
    let role_name = match role {
        Role::Owner => return options,
        Role::App => "weir_app",
        Role::Gate => "weir_gate",
    };
    options.push(("role", role_name.to_owned()));
    // Every statement is short; compiling one takes longer than running it.
    options.push(("jit", "off".to_owned()));
    options.push(("statement_timeout", ms(settings.statement_timeout)));
    options.push(("lock_timeout", ms(settings.lock_timeout)));
    options
}
