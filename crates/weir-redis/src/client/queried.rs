//! Servers that are queried now and then, for what they know of others.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, FromRedisValue, Pipeline};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::error::RedisError;

/// A server and the connection of the last query.
#[derive(Debug)]
pub(super) struct QueriedServer {
    client: redis::Client,
    /// The connection is taken during a query, so a query that is given up closes it.
    connection: Mutex<Option<MultiplexedConnection>>,
}

/// The deadline of a query.
pub(super) const QUERY_TIMEOUT: Duration = Duration::from_millis(400);
/// The time for which further answers are awaited after the first.
const OTHERS_TIMEOUT: Duration = Duration::from_millis(100);

impl QueriedServer {
    pub(super) fn new(client: redis::Client) -> Self {
        Self { client, connection: Mutex::default() }
    }

    /// A client for connections of other use.
    pub(super) fn client(&self) -> redis::Client {
        self.client.clone()
    }

    /// Sends these commands. Connects first if there is no connection.
    pub(super) async fn query<T: FromRedisValue>(
        &self,
        commands: &Pipeline,
    ) -> Result<T, RedisError> {
        let mut slot = self.connection.lock().await;
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let answer = commands.query_async(&mut connection).await?;
        *slot = Some(connection);
        Ok(answer)
    }

    async fn connect(&self) -> Result<MultiplexedConnection, redis::RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(QUERY_TIMEOUT))
            .set_response_timeout(Some(QUERY_TIMEOUT));
        self.client.get_multiplexed_async_connection_with_config(&config).await
    }
}

/// The answers of all servers that answer in time, and the last error of the others.
pub(super) async fn all_in_time<T>(
    queries: impl Iterator<Item = impl Future<Output = Result<T, RedisError>>>,
) -> (Vec<T>, Option<RedisError>) {
    let mut queries: FuturesUnordered<_> = queries.collect();
    let (mut answers, mut error) = (Vec::new(), None);
    let mut deadline = Instant::now() + QUERY_TIMEOUT;
    while let Ok(Some(result)) = timeout_at(deadline, queries.next()).await {
        match result {
            Ok(answer) => {
                answers.push(answer);
                deadline = deadline.min(Instant::now() + OTHERS_TIMEOUT);
            }
            Err(failed) => error = Some(failed),
        }
    }
    (answers, error)
}
