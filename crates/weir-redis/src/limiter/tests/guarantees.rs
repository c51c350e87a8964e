//! The guarantees of every algorithm: denials take nothing, peeks write nothing, every key expires, and shadow rules and
//! refunds affect no other counters.

use std::time::Instant;

use weir_domain::algorithm::Kind;
use weir_domain::draft::{LimitDraft, RuleDraft};
use weir_domain::id::RuleId;
use weir_domain::matching::subject_key;
use weir_domain::request::Operation;
use weir_domain::rule::Rule;

use super::fixture::{
    Fixture, GRACE_MS, charge, charge_of, charge_with_block, connection, draft, log_of_denials,
    of_kind, one_of_each, passed, rate_kinds, shadow_of, values,
};
use super::twin::Random;
use crate::keys;

/// One limit of each algorithm, and a log of denials.
fn each_kind(units: u64, span_ms: u64) -> Vec<LimitDraft> {
    let mut all = one_of_each(units, span_ms);
    all.push(log_of_denials(units, span_ms));
    all
}

/// Limits that deny nothing in these tests, one of each algorithm.
fn generous() -> Vec<LimitDraft> {
    let span_ms = |kind| if kind == Kind::Spacing { 1 } else { 60_000 };
    rate_kinds().map(|kind| of_kind(kind, 1_000, span_ms(kind))).collect()
}

#[tokio::test]
async fn denied_check_leaves_every_enforcing_counter_byte_for_byte_unchanged() {
    for strict in one_of_each(3, 4_000) {
        let fixture = Fixture::new().await;
        let rules = [
            charge_of(1, generous()),
            charge_of(2, vec![strict.clone()]),
            charge_of(3, generous()),
        ];
        fixture.exhaust(&rules).await;
        assert_eq!(fixture.counters().await, 15, "all were charged");
        let before = values(fixture.dump().await);
        for cost in [1, 2, 3, 1_001] {
            fixture.pass_ms(200);
            let decisions = fixture.check(Operation::Consume, cost, &rules).await;
            assert!(!decisions[7].allowed, "{strict:?}");
            assert_eq!(decisions[0].allowed, cost < 1_000, "the others judge by themselves");
            assert_eq!(values(fixture.dump().await), before, "{strict:?} at cost {cost}");
        }
    }
}

#[tokio::test]
async fn denied_check_changes_a_log_of_denials_and_starts_a_block_and_changes_nothing_else() {
    let fixture = Fixture::new().await;
    let rules = [
        charge_of(1, generous()),
        charge_with_block(2, 9_000, one_of_each(3, 4_000)),
        charge_of(3, vec![log_of_denials(1_000, 4_000)]),
    ];
    fixture.check(Operation::Consume, 1, &rules).await;
    fixture.pass_ms(1);
    let (before, mut fields) = (fixture.dump().await, fixture.fields().await);
    assert!(!passed(&fixture.check(Operation::Consume, 1, &rules).await), "by the spacing");
    let after = fixture.dump().await;
    let changed = after
        .iter()
        .filter(|(key, (value, _))| before.get(*key).is_none_or(|(stored, _)| stored != value));
    let changed: Vec<_> = changed.map(|(key, _)| key.as_str()).collect();
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(changed[0].contains(":l:rule_"), "{changed:?}");
    assert!(changed[1].contains(":s:"), "{changed:?}");
    let block = keys::counter(RuleId::from_u128(2), keys::BLOCK_SLOT);
    let with_block = fixture.fields().await;
    fields.insert(block.to_vec(), with_block[&block[..]].clone());
    assert_eq!(with_block, fields, "all other fields stay");

    // While a block lasts, the block alone denies: it is not extended, and no log counts the denial.
    fixture.pass_ms(8_000);
    let decisions = fixture.check(Operation::Consume, 1, &rules).await;
    assert_eq!(decisions[7].retry_after_ms, Some(1_000));
    assert_eq!(values(fixture.dump().await), values(after));
    fixture.pass_ms(1_000);
    assert!(passed(&fixture.check(Operation::Consume, 1, &rules).await), "the block is over");
}

#[tokio::test]
async fn peek_answers_as_the_check_after_it_and_writes_nothing_like_a_look() {
    for limit in each_kind(3, 4_000) {
        let fixture = Fixture::new().await;
        let rules = [
            charge_with_block(1, 700, vec![limit.clone()]),
            shadow_of(2, vec![log_of_denials(2, 9_000)]),
        ];
        for step in 0..12 {
            let before = fixture.dump().await;
            let peeked = fixture.check(Operation::Peek, 1, &rules).await;
            for cost in [2, 3, 4, 1_000_000] {
                fixture.check(Operation::Peek, cost, &rules).await;
                fixture.check(Operation::Inspect, cost, &rules).await;
            }
            let after = fixture.dump().await;
            for (key, (_, ttl_ms)) in &after {
                assert!(*ttl_ms <= before[key].1, "{key} lives longer, {limit:?}");
            }
            assert_eq!(values(after), values(before), "step {step}, {limit:?}");
            assert_eq!(
                fixture.check(Operation::Consume, 1, &rules).await,
                peeked,
                "{step}, {limit:?}"
            );
            fixture.pass_ms(if step % 3 == 0 { 500 } else { 90 });
        }
    }
}

#[tokio::test]
async fn key_lives_as_long_as_it_matters_and_the_grace_at_most() {
    for limit in each_kind(5, 60_000) {
        for (fixture, grace_ms) in
            [(Fixture::new().await, GRACE_MS), (Fixture::by_redis_clock().await, 1_000)]
        {
            let supplied = grace_ms == GRACE_MS;
            let mut random = Random(11);
            let rules = [charge_of(1, vec![limit.clone()])];
            for _ in 0..40 {
                let operation =
                    if random.one_in(4) { Operation::Refund } else { Operation::Consume };
                let before = values(fixture.dump().await);
                let asked_at = Instant::now();
                let decisions = fixture.check(operation, random.between(1, 3), &rules).await;
                let reset_ms = i64::try_from(decisions[0].reset_after_ms).expect("small");
                let dump = fixture.dump().await;
                let elapsed_ms = i64::try_from(asked_at.elapsed().as_millis()).expect("short") + 1;
                for (key, (value, ttl_ms)) in dump {
                    if supplied && before.get(&key) == Some(&value) {
                        continue; // The key was written at an earlier time of the supplied clock.
                    }
                    let most = reset_ms + i64::try_from(grace_ms).expect("small");
                    assert!(ttl_ms <= most + 2, "{ttl_ms} of {most}: {limit:?}");
                    assert!(ttl_ms + elapsed_ms >= reset_ms, "{ttl_ms} of {reset_ms}: {limit:?}");
                }
                fixture.pass_ms(random.below(9_000));
            }
        }
    }
}

#[tokio::test]
async fn block_expires_with_its_end() {
    let fixture = Fixture::by_redis_clock().await;
    let rules = [charge_with_block(1, 30_000, vec![LimitDraft::Spacing { interval_ms: 90_000 }])];
    fixture.exhaust(&rules).await;
    let (seconds, _): (u64, u64) =
        redis::cmd("TIME").query_async(&mut connection().await).await.expect("redis answers");
    let block = &fixture.fields().await[&keys::counter(rules[0].active.id, keys::BLOCK_SLOT)[..]];
    let expires_ms = f64::from_le_bytes(*block.first_chunk().expect("its expiry"));
    #[expect(clippy::cast_precision_loss, reason = "times are exactly representable")]
    let now_ms = (seconds * 1_000) as f64;
    assert!((now_ms + 1.0..=now_ms + 32_000.0).contains(&expires_ms), "{expires_ms} at {now_ms}");
}

#[tokio::test]
async fn refused_for_ever_leaves_no_key() {
    let fixture = Fixture::new().await;
    for (id, limit) in (1..).zip(each_kind(3, 4_000)) {
        if matches!(limit, LimitDraft::Spacing { .. }) {
            continue; // Spacing counts no units, so no cost is refused for ever.
        }
        let rules = [charge_with_block(id, 1_000, vec![limit.clone()])];
        let decision = fixture.check(Operation::Consume, 4, &rules).await[0];
        assert_eq!((decision.allowed, decision.retry_after_ms), (false, None), "{limit:?}");
    }
    assert!(fixture.dump().await.is_empty());
}

#[tokio::test]
async fn shadow_rules_are_decided_and_charged_on_their_own() {
    for limit in one_of_each(1, 60_000) {
        let fixture = Fixture::new().await;
        let enforced = charge_of(1, one_of_each(1_000, 60_000)[..5].to_vec());
        let strict = || vec![limit.clone()];
        let rules = [enforced, shadow_of(2, strict()), shadow_of(3, generous())];
        assert!(passed(&fixture.check(Operation::Consume, 1, &rules).await));
        fixture.pass_ms(1);
        let decisions = fixture.check(Operation::Consume, 1, &rules).await;
        assert!(!decisions[5].allowed, "the strict shadow denies: {limit:?}");
        assert_eq!(decisions[0].remaining, 998, "and the enforced rule is charged");
        assert_eq!(decisions[6].remaining, 998, "and so is the other shadow");

        let rules = [charge_of(4, strict()), shadow_of(5, generous())];
        fixture.check(Operation::Consume, 1, &rules).await;
        fixture.pass_ms(1);
        let decisions = fixture.check(Operation::Consume, 1, &rules).await;
        assert!(!decisions[0].allowed);
        assert_eq!(decisions[1].remaining, 998, "a shadow is charged while the enforced denies");
    }
}

#[tokio::test]
async fn refund_never_lifts_above_full_and_makes_no_key() {
    for limit in one_of_each(3, 4_000) {
        if matches!(limit, LimitDraft::LeakyBucket { .. }) {
            continue;
        }
        let fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit.clone()])];
        let untouched = fixture.check(Operation::Refund, 2, &rules).await[0];
        assert!(fixture.dump().await.is_empty(), "{limit:?}");
        fixture.exhaust(&rules).await;
        let decisions = fixture.check(Operation::Refund, 1, &rules).await;
        assert!(decisions[0].allowed && decisions[0].remaining == 1, "{limit:?}");
        let refunded = fixture.check(Operation::Refund, 1_000_000, &rules).await[0];
        assert_eq!(refunded.remaining, untouched.remaining, "{limit:?}");
        assert!(fixture.dump().await.is_empty(), "{limit:?} is as if never used");
        for _ in 0..untouched.remaining {
            assert!(passed(&fixture.check(Operation::Consume, 1, &rules).await), "{limit:?}");
        }
        assert!(!passed(&fixture.check(Operation::Consume, 1, &rules).await), "{limit:?}");
    }
}

#[tokio::test]
async fn nothing_is_given_back_to_leaky_buckets_logs_of_denials_or_shadows() {
    let leaky = of_kind(Kind::LeakyBucket, 3, 4_000);
    let fixture = Fixture::new().await;
    let rules = [
        charge_of(1, vec![leaky]),
        charge_of(2, vec![log_of_denials(3, 4_000)]),
        shadow_of(3, one_of_each(3, 4_000)),
    ];
    for _ in 0..4 {
        fixture.check(Operation::Consume, 1, &rules).await;
    }
    let before = values(fixture.dump().await);
    let decisions = fixture.check(Operation::Refund, 2, &rules).await;
    assert_eq!(values(fixture.dump().await), before);
    assert_eq!((decisions[0].remaining, decisions[0].allowed), (0, false));
    assert_eq!((decisions[1].remaining, decisions[1].allowed), (0, false));
}

#[tokio::test]
async fn keys_hold_nothing_a_caller_sent_and_share_the_tenants_hash_tag() {
    let mallory = "mallory} {*?[x] 🦀";
    let fixture = Fixture::new().await;
    let limits = one_of_each(1, 4_000);
    let draft = RuleDraft { count_by: vec!["user".into()], block_ms: vec![1_000], ..draft(limits) };
    let mut rule = charge(1, Rule::parse(draft).expect("valid"), 0);
    rule.subject = subject_key(rule.active.rule.count_by(), &[mallory]);
    let rules = [rule];
    fixture
        .check_all(vec![
            fixture.with_key(1, &rules, mallory),
            fixture.asked(Operation::Consume, 1, &rules),
        ])
        .await;

    assert_eq!(fixture.counters().await, 9, "seven counters, a block, a record, all in one slot");
    let mut connection = connection().await;
    let keys: Vec<String> = redis::cmd("KEYS")
        .arg("*mallory*")
        .query_async(&mut connection)
        .await
        .expect("redis lists");
    assert!(keys.is_empty(), "{keys:?}");
}

#[tokio::test]
async fn log_keeps_no_more_entries_than_can_matter_however_long_one_hammers() {
    for count_denied in [false, true] {
        let fixture = Fixture::new().await;
        let limit = LimitDraft::SlidingWindowLog { limit: 5, window_ms: 1_000, count_denied };
        let rules = [charge_of(1, vec![limit])];
        let mut longest = 0;
        let mut connection = connection().await;
        for _ in 0..300 {
            fixture.check(Operation::Consume, 1, &rules).await;
            fixture.pass_ms(37);
            let key = fixture.dump().await.into_keys().next().expect("a log");
            let length: u64 =
                redis::cmd("LLEN").arg(key).query_async(&mut connection).await.expect("a list");
            longest = longest.max(length);
        }
        assert_eq!(longest, 5, "count_denied: {count_denied}");
    }
}
