//! The pool: connects under a role with few privileges, migrates the schema and opens transactions.

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout, timeout_at};

use crate::audit::chain::{self, ChainHead, ChainId, ChainReport};
use crate::connection::{PooledConnection, Silences};
use crate::error::StoreError;
use crate::gates::GateBeat;
use crate::hosts::Hosts;
use crate::rulebook::{self, RulebookChanges, RulebookVersion};
use crate::rulebook_load::{self, WholeLoad};
use crate::tx::{Scope, Tx};

/// A pool of connections under one role. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    pool: PgPool,
    hosts: Hosts,
    role: Role,
    /// The statements that follow `BEGIN`.
    session_settings: Arc<str>,
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
/// The longest that the first attempt to begin can take if the address has several hosts. Then another host is chosen.
const FIRST_HOST_TIMEOUT: Duration = Duration::from_millis(900);
/// The lead of the server's deadline, so that a slow statement costs an error and not the connection.
const SERVER_IS_EARLIER: Duration = Duration::from_millis(200);
/// The deadline of a statement that loads many changes, or a part of the whole rulebook.
const LONG_LOAD_TIMEOUT: Duration = Duration::from_secs(30);

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
    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// The role that this pool assumes.
    pub(crate) fn role(&self) -> Role {
        self.role
    }

    /// Prepares a pool. The first use connects, so a process can start while Postgres is down.
    ///
    /// Each transaction assumes the role when it begins, so the privileges of a powerful login stay unused.
    pub fn connect(url: &str, role: Role, settings: &PoolSettings) -> Result<Self, StoreError> {
        let hosts = Hosts::parse(url)?;
        let silences = Silences::default();
        let checking = silences.clone();
        let pool = PgPoolOptions::new()
            .max_connections(settings.max_connections)
            .acquire_timeout(settings.begin_timeout)
            .test_before_acquire(false)
            .before_acquire(move |connection, idle| {
                Box::pin(checking.clone().check(connection, idle))
            })
            .connect_lazy_with(hosts.options()[0].clone());
        let session_settings = session_settings(role, settings).into();
        let PoolSettings { begin_timeout, answer_timeout, .. } = *settings;
        Ok(Self { pool, hosts, role, session_settings, silences, begin_timeout, answer_timeout })
    }

    /// Returns the same pool with another deadline for each reply, for work that takes longer than a person would wait.
    #[must_use]
    pub fn with_answer_timeout(&self, answer_timeout: Duration) -> Self {
        Self { answer_timeout, ..self.clone() }
    }

    /// Returns the same pool under a role of this name.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_role_of_a_test(&self, role: &str) -> Self {
        let own = self.role().name().unwrap_or_default();
        let session_settings = self.session_settings.replace(own, role).into();
        Self { session_settings, ..self.clone() }
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
        let begin = format!("{begin}{}", self.session_settings);
        let opening = async {
            let mut connection = if self.hosts.are_several() {
                self.begun_on_a_primary(&begin).await?
            } else {
                self.begun(&begin).await?
            };
            connection.set_answer_timeout(self.answer_timeout);
            Ok(connection)
        };
        timeout_at(deadline, opening).await.unwrap_or_else(|elapsed| {
            self.silences.note();
            Err(StoreError::Unavailable(Box::new(elapsed)))
        })
    }

    /// Returns a connection on which `begin` was run. A silent connection is replaced by a new one.
    async fn begun(&self, begin: &str) -> Result<PooledConnection, StoreError> {
        let mut connection = self.connection().await?;
        connection.set_answer_timeout(FIRST_BEGIN_TIMEOUT);
        if connection.begin(begin).await.is_err() {
            drop(connection);
            connection = self.connection().await?;
            connection.begin(begin).await.map_err(StoreError::of_begin)?;
        }
        Ok(connection)
    }

    /// The same with several hosts. If the host in use fails, another one is chosen.
    async fn begun_on_a_primary(&self, begin: &str) -> Result<PooledConnection, StoreError> {
        self.hosts.choose(&self.pool, &self.silences).await?;
        if let Ok(Ok(connection)) = timeout(FIRST_HOST_TIMEOUT, self.begun(begin)).await {
            return Ok(connection);
        }
        self.silences.note();
        self.hosts.choose(&self.pool, &self.silences).await?;
        self.begun(begin).await
    }

    async fn connection(&self) -> Result<PooledConnection, StoreError> {
        let settings = (self.answer_timeout, self.hosts.prepares());
        Ok(PooledConnection::acquire(&self.pool, &self.silences, settings).await?)
    }

    /// Returns the newest version of the rulebook.
    pub async fn rulebook_version(&self) -> Result<RulebookVersion, StoreError> {
        rulebook::version(&mut self.open("BEGIN READ ONLY").await?).await
    }

    /// Loads the changes after the version that a gate holds. `None` if the version is not in the recent history of this
    /// database; the gate then needs the whole rulebook.
    pub async fn load_changes(
        &self,
        held: RulebookVersion,
    ) -> Result<Option<RulebookChanges>, StoreError> {
        match self.load_changes_within(held, self.answer_timeout).await {
            // The server answered, so the connection is not silent: there are many changes.
            Err(error) if error.is_cancelled() => {
                self.load_changes_within(held, LONG_LOAD_TIMEOUT).await
            }
            changes => changes,
        }
    }

    async fn load_changes_within(
        &self,
        held: RulebookVersion,
        answer_timeout: Duration,
    ) -> Result<Option<RulebookChanges>, StoreError> {
        let mut tx = self.begin_load(answer_timeout).await?;
        if !rulebook::is_known(tx.connection(), held).await? {
            return Ok(None);
        }
        rulebook_load::changes(tx.connection(), held.number).await.map(Some)
    }

    /// Loads the whole rulebook and sends it in parts. All parts have the same version, and together all tenants. The load
    /// is complete if it returns `Ok`, and ends early if the receiver is dropped. It waits for a receiver that is slower.
    pub async fn load_whole(
        &self,
        rows_per_part: u32,
        parts: Sender<RulebookChanges>,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin_load(LONG_LOAD_TIMEOUT).await?;
        let mut load = WholeLoad::begin(tx.connection(), rows_per_part).await?;
        while let Some(part) = load.next(tx.connection()).await? {
            if parts.send(part).await.is_err() {
                break;
            }
        }
        Ok(())
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
        tx.gates().report_version(beat).await?;
        let live = tx.gates().count_live(live_within).await?;
        tx.commit().await?;
        Ok(live)
    }

    /// Lists at most 1,000 audit chains after this one. Requires the owner's role.
    pub async fn audit_chains(&self, after: Option<ChainId>) -> Result<Vec<ChainId>, StoreError> {
        chain::chains(&mut self.open("BEGIN READ ONLY").await?, after).await
    }

    /// Verifies an audit chain as of one moment, with the retention in days that each purge must have kept. Requires the
    /// owner's role.
    pub async fn verify_audit_chain(
        &self,
        id: ChainId,
        days: u16,
    ) -> Result<ChainReport, StoreError> {
        let mut tx = self.open("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let report = chain::verify(&mut tx, id, days).await?;
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

/// The statements that follow `BEGIN`. They apply to the transaction, so they also hold behind a pooler that gives each
/// transaction another connection.
fn session_settings(role: Role, settings: &PoolSettings) -> String {
    let PoolSettings { idle_in_transaction_timeout, answer_timeout, lock_timeout, .. } = settings;
    let idle_ms = idle_in_transaction_timeout.as_millis();
    let idle = format!("; SET LOCAL idle_in_transaction_session_timeout = {idle_ms}");
    let Some(role_name) = role.name() else { return idle };
    let (answer_ms, lock_ms) = (answer_timeout.as_millis(), lock_timeout.as_millis());
    // Every statement is short, and compiling one takes longer than running it.
    format!(
        "{idle}; SET LOCAL ROLE {role_name}; SET LOCAL jit = off; SET LOCAL statement_timeout = {answer_ms}; \
         SET LOCAL lock_timeout = {lock_ms}"
    )
}
