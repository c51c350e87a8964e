//! A pooled connection on which every wait has a deadline.
//!
//! A network that drops packets and a frozen server look alike: the connection stays open and nothing arrives.
//! Server-side timeouts do not help in that case, so every statement has a deadline in this process as well. A
//! connection that missed its deadline is closed and never reused, because the reply can still arrive. Connections
//! opened before the missed deadline are closed too when they are next acquired, because the same fault has probably
//! silenced them. No connection is tested before it is used: the message that begins a transaction is the test.

use std::io;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{AssertSqlSafe, Either, Error, Execute, Executor, PgConnection, Postgres, SqlStr};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::idle::{Idle, Lent};
use crate::silences::Silences;

/// The longest that the rollback of an abandoned transaction can take.
const ROLLBACK_TIMEOUT: Duration = Duration::from_millis(700);

/// A pooled connection with a deadline for each reply.
#[derive(Debug)]
pub struct PooledConnection {
    /// `None` only while the connection is dropped.
    inner: Option<Lent>,
    idle: Idle,
    permit: Option<OwnedSemaphorePermit>,
    state: State,
    /// Statements without an answer, which travel with the next one.
    deferred: Vec<String>,
    /// The longest silence of Postgres while a statement runs.
    answer_timeout: Duration,
    /// Whether statements are prepared once for many transactions.
    prepares: bool,
    silences: Silences,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The connection can be returned to the pool.
    Clean,
    /// The transaction must be rolled back first.
    InTransaction,
    /// A statement is running or was abandoned. The connection must be closed.
    Busy,
}

impl PooledConnection {
    /// Acquires a connection from the pool.
    pub(crate) async fn acquire(
        idle: &Idle,
        silences: &Silences,
        (answer_timeout, prepares): (Duration, bool),
    ) -> Result<Self, Error> {
        let (lent, permit) = idle.take().await?;
        let inner = Some(lent);
        let idle = idle.clone();
        let permit = Some(permit);
        let state = State::Clean;
        let deferred = Vec::new();
        let silences = silences.clone();
        Ok(Self { inner, idle, permit, state, deferred, answer_timeout, prepares, silences })
    }

    /// Sets the longest silence of Postgres while a statement runs.
    pub(crate) fn set_answer_timeout(&mut self, answer_timeout: Duration) {
        self.answer_timeout = answer_timeout;
    }

    /// Lets a statement of the transaction travel with the next one, so it costs no round trip. Its error is that of the next one.
    pub(crate) fn defer(&mut self, statement: String) {
        self.deferred.push(statement);
    }

    /// Sends statements in one message, which leaves the connection in this state. Returns the rows of each.
    pub(crate) async fn send(
        &mut self,
        statements: String,
        after: State,
    ) -> Result<Vec<Vec<PgRow>>, Error> {
        // After an error a transaction can be open.
        self.state = State::InTransaction;
        let mut deferred = std::mem::take(&mut self.deferred);
        let without_answer = deferred.len();
        deferred.push(statements);
        let statements = deferred.join("; ");
        let mut answers = Vec::new();
        let mut rows = Vec::new();
        let mut parts = (&mut *self).fetch_many(sqlx::raw_sql(AssertSqlSafe(statements)));
        while let Some(part) = parts.try_next().await? {
            if let Either::Right(row) = part {
                rows.push(row);
            } else {
                answers.push(std::mem::take(&mut rows));
            }
        }
        drop(parts);
        self.state = after;
        answers.drain(..without_answer);
        Ok(answers)
    }

    /// Commits the transaction and returns the connection to the pool.
    pub(crate) async fn commit(mut self) -> Result<(), Error> {
        self.send("COMMIT".to_owned(), State::Clean).await?;
        Ok(())
    }

    /// Sends the deferred statements before a statement with arguments, which travels alone.
    async fn send_deferred(&mut self) -> Result<(), Error> {
        if let Some(last) = self.deferred.pop() {
            self.send(last, State::InTransaction).await?;
        }
        Ok(())
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        let Some(mut lent) = self.inner.take() else { return };
        let idle = self.idle.clone();
        let permit = self.permit.take();
        match (self.state, Handle::try_current()) {
            (State::Clean, Ok(_)) => idle.put(lent),
            (State::InTransaction, Ok(runtime)) => {
                let silences = self.silences.clone();
                runtime.spawn(async move {
                    let roll_back = (&mut *lent.inner).execute("ROLLBACK");
                    match timeout(ROLLBACK_TIMEOUT, roll_back).await {
                        Ok(Ok(_)) => idle.put(lent),
                        ended => {
                            if ended.is_err() {
                                silences.note();
                            }
                            drop(lent.inner.detach());
                        }
                    }
                    drop(permit);
                });
            }
            // Dropping the bare connection closes its socket at once and releases its slot in the pool.
            _ => drop(lent.inner.detach()),
        }
    }
}

/// The code of a write that a server refused because it is read-only.
const READ_ONLY: &str = "25006";

/// A statement that is running.
struct Running<'c> {
    state: &'c mut State,
    /// The state to restore when the statement has ended.
    before: State,
    answer_timeout: Duration,
    silences: &'c Silences,
}

impl PooledConnection {
    fn run(&mut self) -> (&mut PgConnection, Running<'_>) {
        let Self { inner, state, answer_timeout, silences, .. } = self;
        let running = Running { before: *state, state, answer_timeout: *answer_timeout, silences };
        *running.state = State::Busy;
        (&mut inner.as_mut().expect("only `drop` takes it").inner, running)
    }
}

impl Running<'_> {
    /// Waits for the next part of the reply.
    async fn next<T>(&mut self, answer: impl Future<Output = T>) -> Result<T, Error> {
        timeout(self.answer_timeout, answer).await.map_err(|_| {
            self.silences.note();
            silent(self.answer_timeout)
        })
    }

    /// Records the end of the statement. After an error of the database the connection is as usable as after a success, unless
    /// the server is read-only. Then it is a former primary, and all its connections are closed.
    fn ended<T>(self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(Error::Database(error)) = &result
            && error.code().as_deref() == Some(READ_ONLY)
        {
            self.silences.note();
        } else if matches!(result, Ok(_) | Err(Error::Database(_))) {
            *self.state = self.before;
        }
        result
    }

    /// Waits for a reply that arrives as a whole.
    async fn whole<T>(
        mut self,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let result = self.next(answer).await?;
        self.ended(result)
    }
}

/// A statement that is prepared once for many transactions, or anew for each use.
struct Prepared<E> {
    query: E,
    once_for_many: bool,
}

impl<'q, E: Execute<'q, Postgres>> Execute<'q, Postgres> for Prepared<E> {
    fn sql(self) -> SqlStr {
        self.query.sql()
    }

    fn statement(&self) -> Option<&PgStatement> {
        self.query.statement()
    }

    fn take_arguments(&mut self) -> Result<Option<PgArguments>, BoxDynError> {
        self.query.take_arguments()
    }

    fn persistent(&self) -> bool {
        self.once_for_many && self.query.persistent()
    }
}

/// Every statement runs under the connection's `answer_timeout`, which restarts with each row.
impl<'c> Executor<'c> for &'c mut PooledConnection {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxStream<'e, Result<Either<PgQueryResult, PgRow>, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let query = Prepared { query, once_for_many: self.prepares };
        let parts = async move {
            self.send_deferred().await?;
            let (connection, running) = self.run();
            let parts = connection.fetch_many(query);
            Ok::<_, Error>(stream::try_unfold(
                (parts, running),
                |(mut parts, mut running)| async move {
                    match running.next(parts.next()).await? {
                        None => running.ended(Ok(None)),
                        Some(Err(error)) => running.ended(Err(error)),
                        Some(Ok(part)) => Ok(Some((part, (parts, running)))),
                    }
                },
            ))
        };
        stream::once(parts).try_flatten().boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let query = Prepared { query, once_for_many: self.prepares };
        Box::pin(async move {
            self.send_deferred().await?;
            let (connection, running) = self.run();
            running.whole(connection.fetch_optional(query)).await
        })
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, Result<PgStatement, Error>>
    where
        'c: 'e,
    {
        let (connection, running) = self.run();
        Box::pin(running.whole(connection.prepare_with(sql, parameters)))
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<sqlx::Describe<Postgres>, Error>>
    where
        'c: 'e,
    {
        let (connection, running) = self.run();
        Box::pin(running.whole(connection.describe(sql)))
    }
}

fn silent(waited: Duration) -> Error {
    let text = format!("postgres sent nothing for {} ms", waited.as_millis());
    Error::Io(io::Error::new(io::ErrorKind::TimedOut, text))
}
