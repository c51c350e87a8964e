//! Reservations: units that are held until a commit.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Degraded, count, count_or_null, read, read_answer};
use crate::client::{Shared, Weir};
use crate::error::Error;
use crate::request::{Attributes, CheckRequest};
use crate::transport::Reply;

/// Work whose cost is known only afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReserveRequest {
    #[serde(flatten)]
    check: CheckRequest,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    at_most: bool,
}

/// Units that are held until [`Reservation::commit`] or [`Reservation::cancel`], or until `expires_at_ms`.
#[derive(Debug, Clone)]
pub struct Reservation {
    /// The answer to the reserve. Begin the work only if it is allowed.
    pub answer: Answer,
    /// The units that are held; 0 if the reserve was denied or `degraded` is [`Degraded::Client`].
    pub reserved: u64,
    /// In milliseconds since 1970, by the clock of the gates; `None` if nothing is held.
    pub expires_at_ms: Option<u64>,
    weir: Weir,
    request: CheckRequest,
    /// `None` if nothing is held.
    text: Option<String>,
}

/// The effect of a commit or cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub struct Committed {
    /// The number of units that each matching limit took.
    #[serde(deserialize_with = "count")]
    pub charged: u64,
    /// The reserved units that were not used.
    #[serde(deserialize_with = "count")]
    pub released: u64,
    /// Whether the reservation was no longer open, so that the cost was recorded.
    pub late: bool,
    /// Why nothing was held, or nothing was charged.
    #[serde(deserialize_with = "Option::deserialize")]
    pub degraded: Option<Degraded>,
    /// Whether the gate holds the commit, because Redis was away, and sends it when Redis returns. Older gates do not send it.
    #[serde(default)]
    pub buffered: bool,
}

/// The reservation in an answer.
#[derive(Deserialize)]
struct Held {
    #[serde(deserialize_with = "Option::deserialize")]
    reservation: Option<String>,
    #[serde(deserialize_with = "count")]
    reserved: u64,
    #[serde(deserialize_with = "count_or_null")]
    expires_at_ms: Option<u64>,
}

#[derive(Serialize)]
struct CommitBody<'a> {
    namespace: &'a str,
    attributes: &'a Attributes,
    reservation: &'a str,
    cost: u64,
}

impl ReserveRequest {
    /// The estimated cost is that of the check; its `peek` is ignored.
    pub fn new(mut check: CheckRequest) -> Self {
        check.peek = false;
        Self { check, ttl_ms: None, at_most: false }
    }

    /// The time after which the units return if no commit arrives, from a second to ten minutes. The gate takes a minute if it is not
    /// given.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl_ms = Some(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Accepts fewer units than the cost, at least one: [`Reservation::reserved`] says how many.
    #[must_use]
    pub fn at_most(mut self) -> Self {
        self.at_most = true;
        self
    }
}

impl Weir {
    /// Decides as a check, and holds the units until a commit or cancel of the reservation. If no gate decides, [`crate::OnError`] does;
    /// nothing is held then, and a commit records its cost.
    pub async fn reserve(&self, request: &ReserveRequest) -> Result<Reservation, Error> {
        match self.hold(request).await {
            Ok(reservation) => Ok(reservation),
            Err(error) => {
                let answer = self.degraded(error, &request.check)?;
                let (weir, request) = (self.clone(), request.check.clone());
                let (reserved, expires_at_ms, text) = (0, None, None);
                Ok(Reservation { answer, reserved, expires_at_ms, weir, request, text })
            }
        }
    }

    async fn hold(&self, request: &ReserveRequest) -> Result<Reservation, Error> {
        let Shared { options, transport, .. } = &*self.shared;
        let mut keyed = request.clone();
        if options.retry {
            keyed.check = keyed.check.with_retry_key();
        }
        let reply = transport.post("/reserve", &keyed, options.retry).await?;
        let (answer, held) = (read_answer(&reply)?, read::<Held>(&reply.content)?);
        let wanted = if answer.allowed { 200 } else { 429 };
        if reply.status != wanted || answer.allowed != held.reservation.is_some() {
            return Err(Error::does_not_fit(reply.status));
        }
        Ok(Reservation {
            answer,
            reserved: held.reserved,
            expires_at_ms: held.expires_at_ms,
            weir: self.clone(),
            request: request.check.clone(),
            text: held.reservation,
        })
    }
}

impl Reservation {
    /// Charges the units that were used, fewer or more than reserved, and releases the reservation. A further commit or cancel changes
    /// nothing and gets the first answer. If the reservation is no longer open, the cost is recorded. Fails if no gate confirms it.
    pub async fn commit(&self, cost: u64) -> Result<Committed, Error> {
        let Some(reservation) = &self.text else {
            if cost == 0 {
                return Ok(Committed::default());
            }
            let mut request = self.request.clone().cost(cost);
            request.idempotency_key = None;
            let answer = self.weir.record(&request).await?;
            let (degraded, buffered) = (answer.degraded, answer.buffered);
            let charged = answer.charged.unwrap_or(0);
            return Ok(Committed { charged, released: 0, late: true, degraded, buffered });
        };
        let CheckRequest { namespace, attributes, .. } = &self.request;
        let body = CommitBody { namespace, attributes, reservation, cost };
        // Repeatable: a gate commits a reservation once.
        let sent = self.weir.shared.transport.post("/commit", &body, true).await;
        // Any cached denial may have ended.
        self.weir.shared.cache.clear();
        let Reply { status, content, .. } = sent?;
        if status == 200 { read(&content) } else { Err(Error::does_not_fit(status)) }
    }

    /// Releases the units: a commit of 0. Succeeds also if the reservation is no longer open.
    pub async fn cancel(&self) -> Result<Committed, Error> {
        self.commit(0).await
    }
}
