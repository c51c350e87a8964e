//! The pool: connects under a role with few privileges, migrates the schema and opens transactions.

use std::str::FromStr;
use std::time::Duration;

use sqlx::PgPool;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::time::{Instant, timeout_at};

use crate::audit::chain::{self, ChainHead, ChainId, ChainReport};
use crate::connection::{PooledConnection, Silences};
use crate::error::StoreError;
use crate::gates::GateBeat;
use crate::rulebook::{self, RulebookChanges, RulebookVersion};
use crate::tx::{Scope, Tx};

/// The migrations, embedded in the crate.
pub static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// A pool of connections under one role. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    pool: PgPool,
    role: Role,
    silences: Silences,
    begin_timeout: Duration,
    answer_timeout: Duration,
}

/// The database role that a pool assumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The login's own role, which migrates the schema and appoints operators.
    Owner,
    /// The control plane's role, which sees one tenant or one person at a time.
    App,
    /// A gate's role, which reads the rulebook and writes the gate's heartbeat.
    Gate,
}

/// The size of a pool and its deadlines.
#[derive(Debug, Clone, Copy)]
pub struct PoolSettings {
    /// The most connections.
    pub max_connections: u32,
    /// The longest that opening a transaction can take, including connecting.
    pub begin_timeout: Duration,
    /// The longest silence of Postgres while a statement runs. The server cancels a statement slightly earlier. See
    /// [`Store::with_answer_timeout`].
    pub answer_timeout: Duration,
    /// The longest that a statement waits for a lock. The owner waits without limit.
    pub lock_timeout: Duration,
    /// The longest that a transaction can be idle.
    pub idle_in_transaction_timeout: Duration,
}

/// The longest that `BEGIN` can take on a pooled connection before a new connection is tried.
const FIRST_BEGIN_TIMEOUT: Duration = Duration::from_millis(700);
/// The lead of the server's deadline, so that a slow statement costs an error and not the connection.
const SERVER_IS_EARLIER: Duration = Duration::from_millis(200);
/// The deadline for loading the rules of every tenant at once.
const WHOLE_LOAD_TIMEOUT: Duration = Duration::from_secs(30);

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            max_connections: 10,
            begin_timeout: Duration::from_millis(2_600),
            answer_timeout: Duration::from_millis(2_600),
            lock_timeout: Duration::from_secs(2),
            idle_in_transaction_timeout: Duration::from_secs(10),
        }
    }
}

impl Role {
    /// The role's name in Postgres. `None` for the login's own role.
    pub(crate) const fn name(self) -> Option<&'static str> {
        match self {
            Self::Owner => None,
            Self::App => Some("weir_app"),
            Self::Gate => Some("weir_gate"),
        }
    }

    /// The login that `weir migrate` creates for this role.
    pub const fn login(self) -> Option<&'static str> {
        match self {
            Self::Owner => None,
            Self::App => Some("weir_control_login"),
            Self::Gate => Some("weir_gate_login"),
        }
    }
}

impl Store {
    /// The role that this pool assumes.
    pub(crate) fn role(&self) -> Role {
        self.role
    }

    /// Prepares a pool. The first use connects, so a process can start while Postgres is down.
    ///
    /// Each connection assumes the role when it starts, so the privileges of a powerful login stay unused.
    pub fn connect(url: &str, role: Role, settings: &PoolSettings) -> Result<Self, StoreError> {
        let options = options_of(url)?.options(startup_options(role, settings));
        let silences = Silences::default();
        let checking = silences.clone();
        let pool = PgPoolOptions::new()
            .max_connections(settings.max_connections)
            .acquire_timeout(settings.begin_timeout)
            .test_before_acquire(false)
            .before_acquire(move |connection, idle| {
                Box::pin(checking.clone().check(connection, idle))
            })
            .connect_lazy_with(options);
        let PoolSettings { begin_timeout, answer_timeout, .. } = *settings;
        Ok(Self { pool, role, silences, begin_timeout, answer_timeout })
    }

    /// Returns the same pool with another deadline for each reply, for work that takes longer than a person would wait.
    #[must_use]
    pub fn with_answer_timeout(&self, answer_timeout: Duration) -> Self {
        Self { answer_timeout, ..self.clone() }
    }

    /// Migrates the schema. Of two concurrent migrations, the second waits and then has nothing to do.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        MIGRATOR.run(&self.pool).await.map_err(|error| match error {
            sqlx::migrate::MigrateError::Execute(error) => error.into(),
            other => StoreError::Corrupt { what: other.to_string(), source: Some(Box::new(other)) },
        })
    }

    /// Checks that Postgres replies.
    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query_scalar!(
            r#"-- store.ping
            SELECT 1 AS "one!""#
        )
        .fetch_one(&mut self.open("BEGIN READ ONLY").await?)
        .await?;
        Ok(())
    }

    /// Opens a transaction that sees the rows that `scope` permits. Postgres shows `name` in its activity view.
    pub async fn begin(&self, name: &'static str, scope: Scope) -> Result<Tx, StoreError> {
        let statement_timeout = self.answer_timeout.saturating_sub(SERVER_IS_EARLIER);
        Tx::begin(self.open("BEGIN").await?, name, &scope, statement_timeout).await
    }

    /// Returns a connection on which `begin` was run. A silent connection is replaced by a new one.
    pub(crate) async fn open(&self, begin: &'static str) -> Result<PooledConnection, StoreError> {
        let deadline = Instant::now() + self.begin_timeout;
        let opening = async {
            let mut connection = self.connection().await?;
            connection.set_answer_timeout(FIRST_BEGIN_TIMEOUT);
            if connection.begin(begin).await.is_err() {
                drop(connection);
                connection = self.connection().await?;
                connection.begin(begin).await?;
            }
            connection.set_answer_timeout(self.answer_timeout);
            Ok(connection)
        };
        timeout_at(deadline, opening).await.unwrap_or_else(|elapsed| {
            self.silences.note();
            Err(StoreError::Unavailable(Box::new(elapsed)))
        })
    }

    async fn connection(&self) -> Result<PooledConnection, StoreError> {
        Ok(PooledConnection::acquire(&self.pool, &self.silences, self.answer_timeout).await?)
    }

    /// Returns the newest version of the rulebook.
    pub async fn rulebook_version(&self) -> Result<RulebookVersion, StoreError> {
        rulebook::version(&mut self.open("BEGIN READ ONLY").await?).await
    }

    /// Loads the changes after the version that a gate serves, as of one moment. Loads the whole rulebook if that
    /// version is absent or not in the recent history of this database.
    pub async fn load_rulebook(
        &self,
        held: Option<RulebookVersion>,
    ) -> Result<RulebookChanges, StoreError> {
        if let Some(held) = held {
            let mut tx = self.begin_load(self.answer_timeout).await?;
            if rulebook::is_known(tx.connection(), held).await? {
                return rulebook::load(tx.connection(), Some(held.number)).await;
            }
        }
        let mut tx = self.begin_load(WHOLE_LOAD_TIMEOUT).await?;
        rulebook::load(tx.connection(), None).await
    }

    /// Opens a transaction that reads one snapshot, with this deadline for each reply.
    async fn begin_load(&self, answer_timeout: Duration) -> Result<Tx, StoreError> {
        let store = self.with_answer_timeout(answer_timeout);
        let statement_timeout = answer_timeout.saturating_sub(SERVER_IS_EARLIER);
        let connection = store.open("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        Tx::begin(connection, "rulebook.load", &Scope::Service, statement_timeout).await
    }

    /// Writes a gate's heartbeat. Returns the number of live gates, including this one.
    pub async fn beat(&self, beat: &GateBeat, live_within: Duration) -> Result<u64, StoreError> {
        let mut tx = self.begin("gates.beat", Scope::Gate(beat.id)).await?;
        tx.gates().beat(beat).await?;
        let live = tx.gates().count_live(live_within).await?;
        tx.commit().await?;
        Ok(live)
    }

    /// Lists at most 1,000 audit chains after this one. Requires the owner's role.
    pub async fn audit_chains(&self, after: Option<ChainId>) -> Result<Vec<ChainId>, StoreError> {
        chain::chains(&mut self.open("BEGIN READ ONLY").await?, after).await
    }

    /// Verifies an audit chain as of one moment. Requires the owner's role.
    pub async fn verify_audit_chain(&self, id: ChainId) -> Result<ChainReport, StoreError> {
        let mut tx = self.open("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let report = chain::verify(&mut tx, id).await?;
        tx.commit().await?;
        Ok(report)
    }

    /// Whether a former head of an audit chain is still part of it, or was purged. Requires the owner's role.
    pub async fn audit_chain_holds(
        &self,
        id: ChainId,
        head: &ChainHead,
    ) -> Result<bool, StoreError> {
        chain::holds(&mut self.open("BEGIN READ ONLY").await?, id, head).await
    }

    /// Closes every connection.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

pub(crate) fn options_of(url: &str) -> Result<PgConnectOptions, StoreError> {
    PgConnectOptions::from_str(url).map_err(|error| StoreError::Corrupt {
        what: "the database URL cannot be read".to_owned(),
        source: Some(Box::new(error)),
    })
}

fn startup_options(role: Role, settings: &PoolSettings) -> Vec<(&'static str, String)> {
    let ms = |duration: Duration| duration.as_millis().to_string();
    let mut options =
        vec![("idle_in_transaction_session_timeout", ms(settings.idle_in_transaction_timeout))];
    let Some(role_name) = role.name() else { return options };
    options.push(("role", role_name.to_owned()));
    // Every statement is short, and compiling one takes longer than running it.
    options.push(("jit", "off".to_owned()));
    options.push(("statement_timeout", ms(settings.answer_timeout)));
    options.push(("lock_timeout", ms(settings.lock_timeout)));
    options
}
