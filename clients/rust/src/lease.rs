//! Leases of concurrency limits, and limits that count as exhausted.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Degraded, count, count_or_null, read, read_answer};
use crate::client::Weir;
use crate::deferral::unless_not_found;
use crate::error::Error;
use crate::request::{Attributes, CheckRequest};
use crate::transport::{Call, Reply};

/// A place in a concurrency limit, in the answer to a check that passed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Lease {
    /// The id, by which the lease is renewed and released.
    pub id: String,
    /// The id of the rule.
    pub rule_id: String,
    /// The time at which the lease ends by itself, in milliseconds since 1970, by the clock of the gates.
    #[serde(deserialize_with = "count")]
    pub expires_at_ms: u64,
}

/// The effect of a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewed {
    /// Whether the lease is held; false if it had ended, so that someone else can have the place.
    pub held: bool,
    /// The time at which it ends by itself; `None` if it was not renewed.
    pub expires_at_ms: Option<u64>,
    /// Why nothing was renewed although it is held.
    pub degraded: Option<Degraded>,
}

/// The effect of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Released {
    /// Whether the place is free; false if the lease had ended before.
    pub released: bool,
    /// Why nothing was released.
    #[serde(deserialize_with = "Option::deserialize")]
    pub degraded: Option<Degraded>,
}

#[derive(Deserialize)]
struct Renewal {
    #[serde(deserialize_with = "count_or_null")]
    expires_at_ms: Option<u64>,
    #[serde(deserialize_with = "Option::deserialize")]
    degraded: Option<Degraded>,
}

#[derive(Serialize)]
struct LeaseBody<'a> {
    lease: &'a str,
}

#[derive(Serialize)]
struct ExhaustBody<'a> {
    namespace: &'a str,
    attributes: &'a Attributes,
    for_ms: u64,
}

impl Weir {
    /// Lets a lease begin anew. Fails if no gate confirms it.
    pub async fn renew(&self, lease: &str) -> Result<Renewed, Error> {
        let Some(content) = self.settle("/renew", lease).await? else {
            return Ok(Renewed { held: false, expires_at_ms: None, degraded: None });
        };
        let Renewal { expires_at_ms, degraded } = read(&content)?;
        Ok(Renewed { held: true, expires_at_ms, degraded })
    }

    /// Ends a lease, so that another check can take its place. Fails if no gate confirms it.
    pub async fn release(&self, lease: &str) -> Result<Released, Error> {
        match self.settle("/release", lease).await? {
            Some(content) => read(&content),
            None => Ok(Released { released: false, degraded: None }),
        }
    }

    /// Lets all limits that match count as exhausted for this time, because the service behind them said so. The key needs the scope
    /// `exhaust`. Fails if no gate confirms it.
    pub async fn exhaust(
        &self,
        request: &CheckRequest,
        limited: Duration,
    ) -> Result<Answer, Error> {
        let for_ms = u64::try_from(limited.as_millis()).unwrap_or(u64::MAX);
        let CheckRequest { namespace, attributes, .. } = request;
        let body = ExhaustBody { namespace, attributes, for_ms };
        // Repeatable: a second time is no longer than the first one.
        let reply = self.shared.transport.post("/exhaust", &body, true).await?;
        if reply.status == 200 {
            read_answer(&reply)
        } else {
            Err(Error::does_not_fit(reply.status))
        }
    }

    /// The answer to a renewal or release; `None` if the lease had ended.
    async fn settle(&self, path: &str, lease: &str) -> Result<Option<Vec<u8>>, Error> {
        // Repeatable: a gate gives a repeat the first answer.
        let call = Call::post(path, true);
        let Reply { status, content, .. } =
            self.shared.transport.send(call, Some(&LeaseBody { lease })).await?;
        if status == 200 {
            return Ok(Some(content));
        }
        unless_not_found(Error::problem(status, &content), None)
    }
}
