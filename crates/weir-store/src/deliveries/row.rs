//! The columns of a delivery.

use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{DeliveryId, WebhookId};
use weir_domain::time::Timestamp;

use crate::convert::{timestamp, unsigned};
use crate::error::StoreError;

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// The delivery is due, or waits for its next attempt.
    Pending,
    /// The receiver accepted the delivery.
    Delivered,
    /// The attempts were exhausted.
    Failed,
}

/// A delivery with the result of its last attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    /// The delivery's id.
    pub id: DeliveryId,
    /// The webhook to deliver to.
    pub webhook_id: WebhookId,
    /// The kind of event.
    pub kind: String,
    /// The body as it is sent, as JSON.
    pub payload: String,
    /// The state.
    pub state: DeliveryState,
    /// The number of attempts so far.
    pub attempts: u32,
    /// The time of the next attempt.
    pub next_at: Timestamp,
    /// The time of the last attempt.
    pub attempted_at: Option<Timestamp>,
    /// The status of the last response.
    pub response_status: Option<u16>,
    /// The beginning of the last response's body.
    pub response: Option<String>,
    /// The reason why the last attempt got no response.
    pub error: Option<String>,
    /// The duration of the last attempt in milliseconds.
    pub took_ms: Option<u64>,
    /// The time of creation.
    pub created_at: Timestamp,
}

impl DeliveryState {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }

    fn parse(text: &str) -> Result<Self, StoreError> {
        [Self::Pending, Self::Delivered, Self::Failed]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| StoreError::corrupt(format!("a delivery that is {text}")))
    }
}

/// The columns as Postgres returns them.
pub(super) struct Row {
    pub(super) id: Uuid,
    pub(super) webhook_id: Uuid,
    pub(super) kind: String,
    pub(super) payload: String,
    pub(super) state: String,
    pub(super) attempts: i32,
    pub(super) next_at: OffsetDateTime,
    pub(super) attempted_at: Option<OffsetDateTime>,
    pub(super) response_status: Option<i32>,
    pub(super) response: Option<String>,
    pub(super) error: Option<String>,
    pub(super) took_ms: Option<i64>,
    pub(super) created_at: OffsetDateTime,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`.
macro_rules! query_deliveries {
    ($head:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + "
                id,
                webhook_id,
                kind,
                payload,
                state,
                attempts,
                next_at,
                attempted_at,
                response_status,
                response,
                error,
                took_ms,
                created_at
                "
                + $tail
            $(, $argument)*
        )
    };
}
pub(super) use query_deliveries;

impl TryFrom<Row> for DeliveryRow {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: DeliveryId::from_u128(row.id.as_u128()),
            webhook_id: WebhookId::from_u128(row.webhook_id.as_u128()),
            kind: row.kind,
            payload: row.payload,
            state: DeliveryState::parse(&row.state)?,
            attempts: count(row.attempts),
            next_at: timestamp(row.next_at),
            attempted_at: row.attempted_at.map(timestamp),
            response_status: row.response_status.and_then(|status| u16::try_from(status).ok()),
            response: row.response,
            error: row.error,
            took_ms: row.took_ms.map(unsigned),
            created_at: timestamp(row.created_at),
        })
    }
}

pub(super) fn count(attempts: i32) -> u32 {
    u32::try_from(attempts).unwrap_or(0)
}
