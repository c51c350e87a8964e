//! Budgets of attempts, such as wrong passwords a minute, shared by all control planes.
//!
//! Each budget is a fixed window that begins with its first attempt. One script call charges all budgets of an attempt,
//! or none. While Redis is away every call fails at once and a connection is tried once a second.

use std::time::Duration;

use redis::Script;
use redis::aio::MultiplexedConnection;
use tokio::sync::Mutex;
use tokio::time::Instant;
use weir_domain::time::Timestamp;

use crate::client::{Client, Server};
use crate::error::RedisError;
use crate::keys;

/// Charges budgets in Redis.
#[derive(Debug)]
pub struct Attempts {
    client: Client,
    link: Mutex<Link>,
    admit: Script,
    refund: Script,
}

/// The number of attempts that a window admits under one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// A digest that identifies the budget.
    pub name: [u8; 16],
    /// The most attempts that a window admits.
    pub attempts_max: u32,
}

#[derive(Debug, Default)]
struct Link {
    connection: Option<(MultiplexedConnection, Server)>,
    /// The time before which no connection is attempted.
    retry_at: Option<Instant>,
}

const TIMEOUT: Duration = Duration::from_secs(1);
const RETRY_AFTER: Duration = Duration::from_secs(1);

const ADMIT: &str = include_str!("attempts/admit.lua");
const REFUND: &str = include_str!("attempts/refund.lua");

impl Attempts {
    /// Creates budgets over `client`, which connects when it is first used.
    #[expect(
        clippy::disallowed_methods,
        reason = "control planes alone run them, so they are not the limiter's"
    )]
    pub fn new(client: Client) -> Self {
        let (admit, refund) = (Script::new(ADMIT), Script::new(REFUND));
        let client = client.of_tag(keys::ATTEMPTS);
        Self { client, link: Mutex::default(), admit, refund }
    }

    /// Charges one attempt to each budget. If one of them is spent, charges none and returns the wait in milliseconds as
    /// `Err`.
    pub async fn admit(
        &self,
        budgets: &[Budget],
        now: Timestamp,
        window_ms: i64,
    ) -> Result<Result<(), i64>, RedisError> {
        let mut call = self.admit.arg(now.as_millis());
        call.arg(window_ms);
        for budget in budgets {
            call.key(keys::attempts(budget.name)).arg(budget.attempts_max);
        }
        let mut connection = self.connection().await?;
        let answer: redis::RedisResult<i64> = call.invoke_async(&mut connection).await;
        let wait_ms = self.checked(answer).await?;
        Ok(if wait_ms > 0 { Err(wait_ms) } else { Ok(()) })
    }

    /// Refunds one attempt of each budget.
    pub async fn refund(&self, budgets: &[Budget]) -> Result<(), RedisError> {
        let mut call = self.refund.prepare_invoke();
        for budget in budgets {
            call.key(keys::attempts(budget.name));
        }
        let mut connection = self.connection().await?;
        let answer: redis::RedisResult<()> = call.invoke_async(&mut connection).await;
        self.checked(answer).await
    }

    async fn connection(&self) -> Result<MultiplexedConnection, RedisError> {
        let mut link = self.link.lock().await;
        if let Some((connection, server)) = &link.connection
            && self.client.is_current(server).await
        {
            return Ok(connection.clone());
        }
        if link.retry_at.is_some_and(|at| Instant::now() < at) {
            return Err(RedisError::Timeout);
        }
        match self.client.connect(TIMEOUT).await {
            Ok((connection, server)) => {
                *link = Link { connection: Some((connection.clone(), server)), retry_at: None };
                Ok(connection)
            }
            Err(error) => {
                link.retry_at = Some(Instant::now() + RETRY_AFTER);
                Err(error)
            }
        }
    }

    /// Returns the answer. After an error the next call connects anew, because the connection has possibly died while it
    /// was idle.
    async fn checked<T>(&self, answer: redis::RedisResult<T>) -> Result<T, RedisError> {
        if answer.is_err() {
            self.link.lock().await.connection = None;
        }
        Ok(answer?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);
    const MINUTE_MS: i64 = 60_000;

    fn budget(name: u8) -> Budget {
        Budget { name: [name; 16], attempts_max: 3 }
    }

    fn attempts() -> Attempts {
        let url = weir_local::shared::redis().url();
        Attempts::new(crate::client(&url).expect("a valid address"))
    }

    #[tokio::test]
    async fn two_clients_share_a_budget_and_a_spent_one_charges_nothing_else() {
        let (one, other) = (attempts(), attempts());
        let both = [budget(1), budget(2)];
        for client in [&one, &other, &one] {
            assert_eq!(client.admit(&both, NOW, MINUTE_MS).await.expect("Redis"), Ok(()));
        }
        let later = NOW.plus_ms(15_000);
        let mixed = [budget(1), budget(3)];
        assert_eq!(other.admit(&mixed, later, MINUTE_MS).await.expect("Redis"), Err(45_000));
        for _ in 0..3 {
            let alone = one.admit(&[budget(3)], later, MINUTE_MS).await.expect("Redis");
            assert_eq!(alone, Ok(()), "the refused attempt charged nothing");
        }
        let over = NOW.plus_ms(MINUTE_MS);
        assert_eq!(other.admit(&both, over, MINUTE_MS).await.expect("Redis"), Ok(()));
    }

    #[tokio::test]
    async fn refunds_never_go_below_zero() {
        let client = attempts();
        let budgets = [budget(11)];
        client.refund(&budgets).await.expect("Redis");
        for _ in 0..3 {
            assert_eq!(client.admit(&budgets, NOW, MINUTE_MS).await.expect("Redis"), Ok(()));
        }
        client.refund(&budgets).await.expect("Redis");
        assert_eq!(client.admit(&budgets, NOW, MINUTE_MS).await.expect("Redis"), Ok(()));
        assert!(client.admit(&budgets, NOW, MINUTE_MS).await.expect("Redis").is_err());
    }

    #[tokio::test]
    async fn calls_fail_while_redis_is_away() {
        let client = Attempts::new(crate::client("redis://127.0.0.1:1").expect("an address"));
        for _ in 0..3 {
            assert!(client.admit(&[budget(21)], NOW, MINUTE_MS).await.is_err());
        }
    }
}
