//! The counters of rules, inspected without a charge.

use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_domain::time::Micros;
use weir_redis::error::RedisError;
use weir_redis::limiter::{Answer, Limiter, ScriptCheck};

/// The error of counters that could not be read or reset.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CountersError {
    /// Redis did not answer.
    #[error("the counters are temporarily unavailable")]
    Unavailable(#[from] RedisError),
    /// The limiter answered an inspection with a result other than decisions.
    #[error("an inspection was not decided")]
    Undecided,
}

/// Returns for each part of `parts`, which are rules of one namespace, the time of Redis and the decisions of all its limits
/// on a request of this cost now. A part must not contain more limits than a check can.
pub(crate) async fn inspect(
    limiter: &Limiter,
    tenant: TenantId,
    namespace: &str,
    cost: u64,
    parts: impl Iterator<Item = &[RuleCharge]>,
) -> Result<Vec<(Micros, Vec<Decision>)>, CountersError> {
    let operation = Operation::Inspect;
    let ask = |rules| ScriptCheck {
        tenant,
        namespace,
        operation,
        cost,
        rules,
        lease_id: LeaseId::default(),
        idempotency: None,
        charged: None,
    };
    let asked: Vec<_> = parts.map(ask).collect();
    let answers = limiter.check(&asked).await;
    let decided = answers.into_iter().map(|answer| match answer? {
        Answer::Decided(at, decisions) => Ok((at, decisions)),
        _ => Err(CountersError::Undecided),
    });
    decided.collect()
}
