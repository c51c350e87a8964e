//! Answers, and how they are read. Anything that is not exactly an answer is an error, so it cannot admit.

use std::time::Duration;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use crate::error::{Error, Kind};
use crate::lease::Lease;
use crate::options::Choice;
use crate::transport::Reply;

/// Whole numbers from here on are not exact in every language.
const COUNT_END: u64 = 1 << 53;
/// When to try again after a denial by `OnError`; a gate without Redis answers the same.
const RETRY_AFTER_MS: u64 = 1_000;

/// The source of an answer that Redis did not decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Degraded {
    /// A rule that allows.
    Allow,
    /// A rule that denies.
    Deny,
    /// The gate's own counters.
    Local,
    /// [`crate::OnError`].
    #[serde(skip)]
    Client,
}

/// Whether a limit affects the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It does.
    Enforce,
    /// It is listed only.
    Shadow,
    /// It denies nothing, and [`Answer::over`] names the rule when it is exceeded.
    Report,
}

/// The answer to a check.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Answer {
    /// Whether the action is allowed.
    pub allowed: bool,
    /// The names of the rules that denied the check.
    pub denied_by: Vec<String>,
    /// The names of the rules in the mode `report` of which a limit is exceeded. They deny nothing: the caller can do less. Older gates do
    /// not send it.
    #[serde(default)]
    pub over: Vec<String>,
    /// 0 when allowed; on denial the time after which the same check could pass; `None` if it never can.
    #[serde(deserialize_with = "count_or_null")]
    pub retry_after_ms: Option<u64>,
    /// The time to wait before acting (leaky buckets). [`crate::Weir::wait`] has waited for it.
    #[serde(deserialize_with = "count")]
    pub delay_ms: u64,
    /// `limit`, `remaining` and `reset_after_ms` of the limit that decides; `None` when none does.
    #[serde(deserialize_with = "count_or_null")]
    pub limit: Option<u64>,
    /// See `limit`.
    #[serde(deserialize_with = "count_or_null")]
    pub remaining: Option<u64>,
    /// See `limit`.
    #[serde(deserialize_with = "count_or_null")]
    pub reset_after_ms: Option<u64>,
    /// The decision of each limit of each matching rule.
    pub limits: Vec<LimitAnswer>,
    /// The leases of concurrency limits that the check took. Release each of them when the work is done.
    #[serde(default)]
    pub leases: Vec<Lease>,
    /// Names what the check charged, for [`crate::Weir::refund`]; `None` if it charged no enforced limit. Older gates do not send it.
    #[serde(default)]
    pub charge: Option<String>,
    /// The source of the answer, if Redis did not decide.
    #[serde(deserialize_with = "Option::deserialize")]
    pub degraded: Option<Degraded>,
    /// In the answer to a record: the number of units that each matching limit took.
    #[serde(default, deserialize_with = "count_or_null")]
    pub charged: Option<u64>,
    /// In the answer to a record: whether the gate holds it, because Redis was away, and sends it when Redis returns. Older gates do not
    /// send it.
    #[serde(default)]
    pub buffered: bool,
    /// `tenant_rate` or `enforcement_off` when no rule decided.
    #[serde(default)]
    pub code: Option<String>,
    /// The version of the rulebook that decided; 0 if `degraded` is [`Degraded::Client`].
    #[serde(deserialize_with = "count")]
    pub rulebook_version: u64,
    /// The gate's `X-Request-Id`, which names the request in the log of denials; `None` if no gate answered. Of a cached denial, that of the
    /// first one.
    #[serde(skip)]
    pub request_id: Option<String>,
    /// Whether this is a denial that the client repeated without asking the gate.
    #[serde(skip)]
    pub cached: bool,
    /// Why no gate decided; `None` unless `degraded` is [`Degraded::Client`].
    #[serde(skip)]
    pub error: Option<Error>,
    /// How long a denial can be repeated. Older gates do not send it.
    #[serde(default, deserialize_with = "count")]
    pub(crate) cache_for_ms: u64,
}

/// The decision of one limit of one matching rule.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LimitAnswer {
    /// The name of the rule.
    pub rule: String,
    /// The id of the rule.
    pub rule_id: String,
    /// The name of the algorithm.
    pub algorithm: String,
    /// Whether it affects the answer.
    pub mode: Mode,
    /// Whether this limit lets the check pass.
    pub allowed: bool,
    /// The limit, the capacity, or 1 for spacing.
    #[serde(deserialize_with = "count")]
    pub limit: u64,
    /// Whole units left after this decision; `None` if Redis could not be reached.
    #[serde(deserialize_with = "count_or_null")]
    pub remaining: Option<u64>,
    /// The length of the window, or the time to refill or drain completely.
    #[serde(deserialize_with = "count")]
    pub window_ms: u64,
    /// The time until the counter is unused again; `None` if Redis could not be reached.
    #[serde(deserialize_with = "count_or_null")]
    pub reset_after_ms: Option<u64>,
    /// The time until this limit would allow the same check; `None` if it never would.
    #[serde(deserialize_with = "count_or_null")]
    pub retry_after_ms: Option<u64>,
    /// The time to wait before acting.
    #[serde(deserialize_with = "count")]
    pub delay_ms: u64,
    /// In the answer to a refund: whether units were returned to this limit.
    #[serde(default)]
    pub refunded: Option<bool>,
}

impl Answer {
    /// The answer of `OnError`.
    pub(crate) fn of_client(choice: Choice, error: Error) -> Self {
        let allowed = choice == Choice::Allow;
        Self {
            allowed,
            denied_by: Vec::new(),
            over: Vec::new(),
            retry_after_ms: Some(if allowed { 0 } else { RETRY_AFTER_MS }),
            delay_ms: 0,
            limit: None,
            remaining: None,
            reset_after_ms: None,
            limits: Vec::new(),
            leases: Vec::new(),
            charge: None,
            degraded: Some(Degraded::Client),
            charged: None,
            buffered: false,
            code: None,
            rulebook_version: 0,
            request_id: None,
            cached: false,
            error: Some(error),
            cache_for_ms: 0,
        }
    }

    /// The same denial after this time.
    pub(crate) fn later(&self, passed: Duration) -> Self {
        let passed_ms = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        let left = |ms: &mut Option<u64>| *ms = ms.map(|ms| ms.saturating_sub(passed_ms));
        let mut answer = self.clone();
        answer.cached = true;
        left(&mut answer.retry_after_ms);
        left(&mut answer.reset_after_ms);
        for limit in &mut answer.limits {
            left(&mut limit.retry_after_ms);
            left(&mut limit.reset_after_ms);
        }
        answer
    }
}

#[derive(Deserialize)]
struct Batch {
    results: Vec<Answer>,
}

pub(crate) fn read_answer(reply: &Reply) -> Result<Answer, Error> {
    let answer: Answer = read(&reply.content)?;
    Ok(Answer { request_id: reply.request_id.clone(), ..answer })
}

/// Reads this number of answers.
pub(crate) fn read_batch(reply: &Reply, count: usize) -> Result<Vec<Answer>, Error> {
    let Batch { mut results } = read(&reply.content)?;
    for answer in &mut results {
        answer.request_id.clone_from(&reply.request_id);
    }
    if results.len() == count { Ok(results) } else { Err(invalid(&format!("not {count} entries"))) }
}

/// Reads this number of entries, of which each is an answer or not.
pub(crate) fn read_batch_entries(
    reply: &Reply,
    count: usize,
) -> Result<Vec<Result<Answer, Error>>, Error> {
    #[derive(Deserialize)]
    struct Entries {
        results: Vec<serde_json::Value>,
    }
    let Entries { results } = read(&reply.content)?;
    if results.len() != count {
        return Err(invalid(&format!("not {count} entries")));
    }
    let answer = |entry| {
        let answer: Answer =
            serde_json::from_value(entry).map_err(|error| invalid(&error.to_string()))?;
        Ok(Answer { request_id: reply.request_id.clone(), ..answer })
    };
    // Without this, a struct could be read from a list.
    let object = |entry: serde_json::Value| {
        if entry.is_object() { answer(entry) } else { Err(invalid("not an object")) }
    };
    Ok(results.into_iter().map(object).collect())
}

pub(crate) fn read<T: DeserializeOwned>(content: &[u8]) -> Result<T, Error> {
    // The parser does not look at texts of unknown fields.
    let text = std::str::from_utf8(content).map_err(|error| invalid(&error.to_string()))?;
    // Without this, a struct could be read from a list.
    if !text.trim_start().starts_with('{') {
        return Err(invalid("not an object"));
    }
    serde_json::from_str(text).map_err(|error| invalid(&error.to_string()))
}

fn invalid(why: &str) -> Error {
    Error::new(Kind::Answer, format!("the gate's answer is not valid: {why}"))
}

pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let count = u64::deserialize(deserializer)?;
    if count < COUNT_END { Ok(count) } else { Err(D::Error::custom("a number is too large")) }
}

/// As `count`; null is `None`, and an absent field an error unless it has a default.
pub(crate) fn count_or_null<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    struct Count(#[serde(deserialize_with = "count")] u64);
    Ok(Option::<Count>::deserialize(deserializer)?.map(|Count(count)| count))
}
