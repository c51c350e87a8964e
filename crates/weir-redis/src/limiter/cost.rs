//! The cost of checks to Redis, in estimated microseconds of script time.
//!
//! A call of the script blocks Redis for all clients. These costs bound a call and divide it between tenants. The estimate
//! follows the number of limits; `pace` corrects it by measurement.

use weir_domain::charge::RuleCharge;
use weir_domain::limit::Limit;

use super::script_check::ScriptCheck;

/// A batch is sent in parts of at most this cost, unless a single check costs more.
const PART_MAX: u32 = 100;
const CHECK: u32 = 5;
const LIMIT: u32 = 2;
/// A log or a concurrency limit has a key of its own and is searched.
const LOG: u32 = 8;
const BLOCK: u32 = 3;
const IDEMPOTENCY_RECORD: u32 = 8;
/// A reserve or commit adds or removes a member, and changes each counter twice.
const RESERVATION: u32 = 10;
const RESERVATION_LIMIT: u32 = 4;

/// The estimated script time of checks that are sent together, in microseconds; at least 1.
pub(super) fn of(asked: &[ScriptCheck<'_>]) -> u32 {
    asked.iter().map(of_check).fold(0, u32::saturating_add).max(1)
}

/// Splits a batch, in order, into parts of one namespace and one bucket each that are sent one by one. A check is never split.
pub(super) fn parts<'a, 'b>(
    asked: &'a [ScriptCheck<'b>],
) -> impl Iterator<Item = &'a [ScriptCheck<'b>]> {
    let mut rest = asked;
    std::iter::from_fn(move || {
        let mut cost = 0_u32;
        let first = rest.first()?;
        let bucket = first.bucket();
        let fits = |check: &&ScriptCheck<'_>| {
            cost = cost.saturating_add(of_check(check));
            cost <= PART_MAX
                && check.tenant == first.tenant
                && check.namespace == first.namespace
                && check.bucket() == bucket
        };
        let (part, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        rest = later;
        Some(part)
    })
}

fn of_check(check: &ScriptCheck<'_>) -> u32 {
    let record = if check.idempotency.is_some() { IDEMPOTENCY_RECORD } else { 0 };
    let decided = check.rules.iter().map(of_rule).fold(CHECK + record, u32::saturating_add);
    if !check.operation.reserves() {
        return decided;
    }
    let of_limits = |rule: &RuleCharge| {
        u32::try_from(rule.limits().len()).unwrap_or(u32::MAX).saturating_mul(RESERVATION_LIMIT)
    };
    check.rules.iter().map(of_limits).fold(decided + RESERVATION, u32::saturating_add)
}

fn of_rule(rule: &RuleCharge) -> u32 {
    let of_limit = |limit: &Limit| if limit.algorithm.has_own_key() { LOG } else { LIMIT };
    let block = if rule.active.rule.block_ms().is_some() { BLOCK } else { 0 };
    rule.limits().iter().map(of_limit).fold(block, u32::saturating_add)
}

#[cfg(test)]
mod tests {
    use weir_domain::algorithm::LeaseId;
    use weir_domain::draft::LimitDraft;
    use weir_domain::id::TenantId;
    use weir_domain::request::Operation;

    use super::*;
    use crate::limiter::Idempotency;
    use crate::limiter::tests::fixture::{charge_of, charge_with_block};

    fn check(rules: &[RuleCharge]) -> ScriptCheck<'_> {
        let (tenant, operation, cost) = (TenantId::from_u128(1), Operation::Consume, 1);
        ScriptCheck {
            tenant,
            namespace: "test",
            operation,
            cost,
            rules,
            lease_id: LeaseId::default(),
            idempotency: None,
            charged: None,
        }
    }

    fn windows(count: u64) -> Vec<LimitDraft> {
        (1..=count).map(|n| LimitDraft::FixedWindow { limit: n, window_ms: 1_000 * n }).collect()
    }

    #[test]
    fn cost_follows_the_number_of_limits_and_what_they_need() {
        let (one, eight) = ([charge_of(1, windows(1))], [charge_of(1, windows(8))]);
        assert_eq!(of(&[check(&one)]), CHECK + LIMIT);
        assert_eq!(of(&[check(&eight), check(&eight)]), 2 * (CHECK + 8 * LIMIT));
        let blocked = [charge_with_block(1, 5_000, windows(1))];
        assert_eq!(of(&[check(&blocked)]), CHECK + LIMIT + BLOCK);
        let log = LimitDraft::SlidingWindowLog { limit: 5, window_ms: 1_000, count_denied: false };
        assert_eq!(of(&[check(&[charge_of(1, vec![log])])]), CHECK + LOG);
        let record = Idempotency {
            key: "key".to_owned(),
            fingerprint: "fingerprint".to_owned(),
            text: "text".to_owned(),
            recorded_for: Idempotency::RECORDED_FOR,
        };
        let repeatable = ScriptCheck { idempotency: Some(record), ..check(&one) };
        assert_eq!(of(&[repeatable]), CHECK + LIMIT + IDEMPOTENCY_RECORD);
    }

    #[test]
    fn batch_is_split_in_order_into_parts_of_bounded_cost() {
        let (one, eight) = ([charge_of(1, windows(1))], [charge_of(1, windows(8))]);
        let many: Vec<_> = (0..60).map(|id| charge_of(id, windows(8))).collect();
        let rules = [&one[..], &many, &eight, &eight, &one];
        let batch: Vec<_> = (0..100).map(|at| check(rules[at % rules.len()])).collect();
        let parts: Vec<_> = parts(&batch).collect();
        assert!(parts.iter().all(|part| part.len() == 1 || of(part) <= PART_MAX));
        assert!(parts.len() > 40, "the large checks travel alone: {}", parts.len());
        let joined = parts.iter().flat_map(|part| part.iter()).map(|check| check.rules.len());
        assert!(joined.eq(batch.iter().map(|check| check.rules.len())), "in order, all of them");
    }

    #[test]
    fn part_is_of_one_tenant_and_one_namespace() {
        let one = [charge_of(1, windows(1))];
        let of = |tenant, namespace| {
            let tenant = TenantId::from_u128(tenant);
            ScriptCheck { tenant, namespace, ..check(&one) }
        };
        let batch = [of(1, "a"), of(1, "a"), of(2, "a"), of(1, "a"), of(1, "b"), of(1, "b")];
        let lengths: Vec<_> = parts(&batch).map(<[_]>::len).collect();
        assert_eq!(lengths, [2, 1, 1, 2]);
    }

    #[test]
    fn empty_batch_has_no_parts() {
        assert_eq!(parts(&[]).count(), 0);
    }
}
