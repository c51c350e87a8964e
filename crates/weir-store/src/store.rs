//! The pool: connects under a role with few privileges, migrates the schema and opens transactions.

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::{PgPoolOptions, PgRow};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout, timeout_at};

use crate::audit::chain::{self, ChainHead, ChainId, ChainReport};
use crate::connection::{PooledConnection, State};
use crate::convert::{signed, unsigned};
use crate::error::StoreError;
use crate::gates::{self, GateBeat, LiveGates};
use crate::hosts::Hosts;
use crate::idle::Idle;
use crate::message::Answers;
use crate::rulebook::{self, RulebookChanges, RulebookPoll, RulebookVersion};
use crate::rulebook_load::{self, WholeLoad};
use crate::silences::Silences;
use crate::tx::{self, Scope, Tx};

/// A pool of connections under one role. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    pool: PgPool,
    pub(crate) idle: Idle,
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

/// The longest silence after the first message on a pooled connection before a new connection is tried.
pub(crate) const FIRST_TIMEOUT: Duration = Duration::from_millis(700);
/// The time that the first attempt can take longer if the address has several hosts. Then another host is chosen.
const HOST_IS_LATER: Duration = Duration::from_millis(200);
/// The lead of the server's deadline, so that a slow statement costs an error and not the connection.
const SERVER_IS_EARLIER: Duration = Duration::from_millis(200);
/// The deadline of a statement that loads many changes, or a part of the whole rulebook.
const LONG_LOAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Begins a transaction that reads one snapshot of the database. Messages return digests as text.
const SNAPSHOT: &str =
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL bytea_output = hex";

/// The first message of a transaction.
struct Opening {
    text: String,
    /// The state in which it leaves the connection.
    after: State,
    /// The longest silence on a pooled connection before a new connection is tried.
    silence_max: Duration,
}

/// A connection, and the answers to the first message.
type Opened = (PooledConnection, Vec<Vec<PgRow>>);

impl Opening {
    /// A message that leaves the transaction open.
    fn new(text: String) -> Self {
        Self { text, after: State::InTransaction, silence_max: FIRST_TIMEOUT }
    }
}

/// Whether a connection failed rather than a statement. Class 57P: the server ended it. 25006: the server is read-only.
fn is_of_connection(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.map_or(error.as_database_error().is_none(), |code| {
        code.starts_with("57P") || code == "25006"
    })
}

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
            .before_acquire(move |_, idle| {
                let is_silent = checking.since(idle.age);
                Box::pin(async move { Ok(!is_silent) })
            })
            .connect_lazy_with(hosts.options()[0].clone());
        let session_settings = session_settings(role, settings).into();
        let PoolSettings { begin_timeout, answer_timeout, .. } = *settings;
        let idle = Idle::new(pool.clone(), silences.clone());
        Ok(Self {
            pool,
            idle,
            hosts,
            role,
            session_settings,
            silences,
            begin_timeout,
            answer_timeout,
        })
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
        self.begin_as("BEGIN", name, &scope).await
    }

    async fn begin_as(&self, begin: &str, name: &str, scope: &Scope) -> Result<Tx, StoreError> {
        let scope = self.scope(name, scope);
        let opening = Opening::new(format!("{begin}{}; {scope}", self.session_settings));
        Ok(Tx::new(self.opened(&opening).await?.0))
    }

    pub(crate) fn scope(&self, name: &str, scope: &Scope) -> String {
        tx::scope(name, scope, self.answer_timeout.saturating_sub(SERVER_IS_EARLIER))
    }

    /// Returns a connection on which `begin` was run. A silent connection is replaced by a new one.
    pub(crate) async fn open(&self, begin: &str) -> Result<PooledConnection, StoreError> {
        let opening = Opening::new(format!("{begin}{}", self.session_settings));
        Ok(self.opened(&opening).await?.0)
    }

    /// Runs a whole transaction in one message, and returns the answer of each statement. It possibly runs twice.
    pub(crate) async fn run(
        &self,
        begin: &str,
        statements: &[String],
        silence_max: Duration,
    ) -> Result<Answers, StoreError> {
        let text = format!("{begin}{}; {}; COMMIT", self.session_settings, statements.join("; "));
        let opening = Opening { text, after: State::Clean, silence_max };
        let (_, mut answers) = self.opened(&opening).await?;
        answers.pop();
        Ok(Answers::of_last(statements.len(), answers))
    }

    /// Opens a transaction with these statements in one message, and returns their answers. They can wait for locks.
    pub(crate) async fn begin_with(
        &self,
        statements: &[String],
    ) -> Result<(Tx, Answers), StoreError> {
        let text = format!("BEGIN{}; {}", self.session_settings, statements.join("; "));
        let opening = Opening { silence_max: self.answer_timeout, ..Opening::new(text) };
        let (connection, answers) = self.opened(&opening).await?;
        Ok((Tx::new(connection), Answers::of_last(statements.len(), answers)))
    }

    /// Runs one statement that only reads, in a transaction of its own and in one message.
    pub(crate) async fn read(
        &self,
        name: &'static str,
        scope: &Scope,
        statement: String,
    ) -> Result<Answers, StoreError> {
        let statements = [self.scope(name, scope), statement];
        let mut answers = self.run("BEGIN READ ONLY", &statements, FIRST_TIMEOUT).await?;
        answers.skip();
        Ok(answers)
    }

    /// Returns a connection on which a transaction was opened, with the answers.
    async fn opened(&self, opening: &Opening) -> Result<Opened, StoreError> {
        let deadline = Instant::now() + self.begin_timeout + opening.silence_max - FIRST_TIMEOUT;
        let begun = async {
            let (mut connection, answers) = if self.hosts.are_several() {
                self.begun_on_a_primary(opening).await?
            } else {
                self.begun(opening).await?
            };
            connection.set_answer_timeout(self.answer_timeout);
            Ok((connection, answers))
        };
        timeout_at(deadline, begun).await.unwrap_or_else(|elapsed| {
            self.silences.note();
            Err(StoreError::Unavailable(Box::new(elapsed)))
        })
    }

    /// Sends the message. A connection that is silent or was closed is replaced by a new one.
    async fn begun(&self, opening: &Opening) -> Result<Opened, StoreError> {
        let mut connection = self.connection().await?;
        connection.set_answer_timeout(opening.silence_max);
        match connection.send(opening.text.clone(), opening.after).await {
            Ok(answers) => return Ok((connection, answers)),
            Err(error) if !is_of_connection(&error) => return Err(StoreError::of_begin(error)),
            // Other connections were probably closed as well.
            Err(_) => self.silences.note(),
        }
        drop(connection);
        let mut connection = self.connection().await?;
        let sent = connection.send(opening.text.clone(), opening.after).await;
        Ok((connection, sent.map_err(StoreError::of_begin)?))
    }

    /// The same with several hosts. If the host in use fails, another one is chosen.
    async fn begun_on_a_primary(&self, opening: &Opening) -> Result<Opened, StoreError> {
        self.hosts.choose(&self.pool, &self.silences).await?;
        let first = timeout(opening.silence_max + HOST_IS_LATER, self.begun(opening)).await;
        match first {
            Ok(Ok(opened)) => return Ok(opened),
            Ok(Err(error)) if !error.is_unavailable() => return Err(error),
            _ => self.silences.note(),
        }
        self.hosts.choose(&self.pool, &self.silences).await?;
        self.begun(opening).await
    }

    async fn connection(&self) -> Result<PooledConnection, StoreError> {
        let settings = (self.answer_timeout, self.hosts.prepares());
        Ok(PooledConnection::acquire(&self.idle, &self.silences, settings).await?)
    }

    /// Returns the newest version of the rulebook.
    pub async fn rulebook_version(&self) -> Result<RulebookVersion, StoreError> {
        let version = [rulebook::version_statement()];
        let mut answers = self.run("BEGIN READ ONLY", &version, FIRST_TIMEOUT).await?;
        Ok(rulebook::version_of(&mut answers)?.0)
    }

    /// Compares the version of the rulebook that a gate holds with the newest one.
    pub async fn poll_rulebook(
        &self,
        held: Option<RulebookVersion>,
    ) -> Result<RulebookPoll, StoreError> {
        let mut statements = vec![rulebook::version_statement()];
        statements.extend(held.map(rulebook::known_statement));
        let mut answers = self.run("BEGIN READ ONLY", &statements, FIRST_TIMEOUT).await?;
        let (newest, at) = rulebook::version_of(&mut answers)?;
        Ok(RulebookPoll { newest, is_known: held.is_some() && answers.value()?, at })
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
        let store = self.with_answer_timeout(answer_timeout);
        let mut statements = vec![store.scope("rulebook.load", &Scope::Service)];
        statements.extend(rulebook_load::change_statements(held));
        let mut answers = store.run(SNAPSHOT, &statements, answer_timeout).await?;
        answers.skip();
        rulebook_load::changes(&mut answers, signed(held.number))
    }

    /// Loads the whole rulebook and sends it in parts. All parts have the same version, and together all tenants. The load
    /// is complete if it returns `Ok`, and ends early if the receiver is dropped. It waits for a receiver that is slower.
    pub async fn load_whole(
        &self,
        rows_per_part: u32,
        parts: Sender<RulebookChanges>,
    ) -> Result<(), StoreError> {
        let store = self.with_answer_timeout(LONG_LOAD_TIMEOUT);
        let mut tx = store.begin_as(SNAPSHOT, "rulebook.load", &Scope::Service).await?;
        let mut load = WholeLoad::begin(tx.connection(), rows_per_part).await?;
        while let Some(part) = load.next(tx.connection()).await? {
            if parts.send(part).await.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Writes a gate's heartbeat. Returns the numbers of live gates, including this one.
    pub async fn beat(
        &self,
        beat: &GateBeat,
        live_within: Duration,
    ) -> Result<LiveGates, StoreError> {
        let scope = self.scope("gates.beat", &Scope::Gate(beat.id));
        let statements = [
            scope,
            gates::beat_statement(beat),
            gates::report_statement(beat),
            gates::count_statement(live_within, beat.region.as_deref()),
        ];
        let mut answers = self.run("BEGIN", &statements, FIRST_TIMEOUT).await?;
        (0..3).for_each(|_| answers.skip());
        let (all, of_region) = answers.row()?.unwrap_or_default();
        Ok(LiveGates { all: unsigned(all), of_region: unsigned(of_region) })
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
        self.idle.close().await;
    }
}

/// The statements that follow `BEGIN`. They apply to the transaction, so they also hold behind a pooler that gives each
/// transaction another connection.
fn session_settings(role: Role, settings: &PoolSettings) -> String {
    let PoolSettings { idle_in_transaction_timeout, answer_timeout, lock_timeout, .. } = settings;
    let idle_ms = idle_in_transaction_timeout.as_millis();
    let idle = format!("; SET LOCAL idle_in_transaction_session_timeout = {idle_ms}");
    let Some(role_name) = role.name() else { return idle };
    let answer_ms = answer_timeout.as_millis();
    let lock_ms = lock_timeout.as_millis();
    // Every statement is short, and compiling one takes longer than running it.
    format!(
        "{idle}; SET LOCAL ROLE {role_name}; SET LOCAL jit = off; SET LOCAL statement_timeout = {answer_ms}; \
         SET LOCAL lock_timeout = {lock_ms}"
    )
}
