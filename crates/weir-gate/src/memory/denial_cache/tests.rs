//! The denials that are cached, their time to live, and the events that remove them.

use weir_domain::draft::{LimitDraft, Mode, RuleDraft};
use weir_domain::overrides::Overrides;
use weir_domain::rule::Rule;
use weir_domain::rulebook::ActiveRule;
use weir_domain::spread::SpreadKey;

use super::*;
use crate::memory::sharded::SHARDS;

const TENANT: TenantId = TenantId::from_u128(1);

fn rule(id: u128, mode: Mode, block_ms: Option<u64>, limits: Vec<LimitDraft>) -> RuleCharge {
    let draft = RuleDraft {
        name: format!("rule-{id}"),
        count_by: vec!["user".into()],
        limits,
        block_ms: block_ms.into_iter().collect(),
        mode,
        ..RuleDraft::default()
    };
    let rule = Rule::parse(draft).expect("a rule");
    let active = Arc::new(ActiveRule::new(RuleId::from_u128(id), rule, Overrides::default()));
    RuleCharge::new(active, SubjectKey(7), SpreadKey::NONE)
}

fn window() -> LimitDraft {
    LimitDraft::FixedWindow { limit: 5, window_ms: 60_000 }
}

fn log(count_denied: bool) -> LimitDraft {
    LimitDraft::SlidingWindowLog { limit: 5, window_ms: 60_000, count_denied }
}

fn denied(remaining: u64, retry_after_ms: u64) -> Decision {
    let retry_after_ms = Some(retry_after_ms);
    Decision {
        allowed: false,
        remaining,
        reset_after_ms: 50_000,
        retry_after_ms,
        delay_ms: 0,
        returned: false,
    }
}

fn allowed(remaining: u64, reset_after_ms: u64) -> Decision {
    let retry_after_ms = Some(0);
    Decision {
        allowed: true,
        remaining,
        reset_after_ms,
        retry_after_ms,
        delay_ms: 0,
        returned: false,
    }
}

fn valid_ms(cost: u64, rules: &[RuleCharge], decisions: &[Decision]) -> Option<u64> {
    valid_for_ms(ChargedRules { tenant: TENANT, version: 1, cost, rules, is_far: false }, decisions)
}

#[test]
fn only_a_denial_that_cannot_change_is_valid() {
    let one = |limit| [rule(1, Mode::Enforce, None, vec![limit])];
    assert_eq!(valid_ms(1, &one(window()), &[denied(0, 400)]), Some(400));
    assert_eq!(valid_ms(9, &one(window()), &[denied(0, 400)]), Some(400));
    // Another check can take the remaining two.
    assert_eq!(valid_ms(3, &one(window()), &[denied(2, 400)]), None);
    assert_eq!(valid_ms(1, &one(window()), &[allowed(0, 400)]), None);
    assert_eq!(valid_ms(1, &one(log(false)), &[denied(0, 400)]), Some(400));
    // One unit returns before three do, which changes `remaining`.
    assert_eq!(valid_ms(3, &one(log(false)), &[denied(0, 400)]), None);
    assert_eq!(valid_ms(1, &one(log(true)), &[denied(0, 400)]), None);
    let never = Decision { retry_after_ms: None, ..denied(0, 0) };
    assert_eq!(valid_ms(1, &one(window()), &[never]), None);
}

#[test]
fn each_rule_must_be_exhausted_itself_and_for_the_same_subject() {
    let two = |mode, block_ms| {
        [
            rule(1, Mode::Enforce, None, vec![window(), window()]),
            rule(2, mode, block_ms, vec![window()]),
        ]
    };
    let both = [denied(0, 400), allowed(3, 300), denied(0, 500)];
    assert_eq!(valid_ms(1, &two(Mode::Enforce, None), &both), Some(300));
    // A check that matches only the second rule can be admitted.
    let first = [denied(0, 400), allowed(3, 300), allowed(1, 500)];
    assert_eq!(valid_ms(1, &two(Mode::Enforce, None), &first), None);
    assert_eq!(valid_ms(1, &two(Mode::Shadow, None), &both), None);
    assert_eq!(valid_ms(1, &two(Mode::Enforce, Some(1_000)), &both), None);
    let [one, mut other] = two(Mode::Enforce, None);
    other.subject = SubjectKey(8);
    assert_eq!(valid_ms(1, &[one, other], &both), None);
}

/// A connected cache with a denial that is valid for ten seconds.
fn with_denial() -> (DenialCache, [RuleCharge; 1], Instant) {
    let denial_cache = DenialCache::new();
    denial_cache.set_connected(weir_redis::placement::Buckets::ALL);
    let rules = [rule(1, Mode::Enforce, None, vec![window()])];
    let now = Instant::now();
    let check = ChargedRules { tenant: TENANT, version: 1, cost: 1, rules: &rules, is_far: false };
    let generation = generation(&denial_cache, &rules, now);
    denial_cache.insert(generation, check, &[denied(0, 10_000)], now);
    (denial_cache, rules, now)
}

/// The present generation: no denial with this cost is cached.
fn generation(denial_cache: &DenialCache, rules: &[RuleCharge], now: Instant) -> Generation {
    let check = ChargedRules { tenant: TENANT, version: 1, cost: 99, rules, is_far: false };
    denial_cache.get(check, now).expect_err("not cached")
}

#[test]
fn cached_denial_has_less_time_left_and_expires_after_the_longest_time() {
    let (denial_cache, rules, now) = with_denial();
    let check = ChargedRules { tenant: TENANT, version: 1, cost: 1, rules: &rules, is_far: false };
    let later = now + Duration::from_millis(4_999);
    let again = denial_cache.get(check, later).expect("known");
    let retry_ms = again[0].retry_after_ms.expect("a time");
    assert!((5_001..=10_000).contains(&retry_ms), "{retry_ms}");
    assert!(!again[0].allowed && again[0].remaining == 0);
    assert!(denial_cache.get(check, now + TTL_MAX).is_err());
    for other in [ChargedRules { version: 2, ..check }, ChargedRules { cost: 2, ..check }] {
        assert!(denial_cache.get(other, now).is_err());
    }
    let mut others = rules.clone();
    others[0].override_limits = Some(Arc::new([]));
    assert!(denial_cache.get(ChargedRules { rules: &others, ..check }, now).is_err());
}

#[test]
fn denial_of_an_earlier_generation_is_not_inserted() {
    let (denial_cache, rules, now) = with_denial();
    let check = ChargedRules { tenant: TENANT, version: 1, cost: 1, rules: &rules, is_far: false };
    let generation = generation(&denial_cache, &rules, now);
    denial_cache.invalidate(SubjectKey(7));
    assert!(denial_cache.get(check, now).is_err());
    denial_cache.insert(generation, check, &[denied(0, 10_000)], now);
    assert!(denial_cache.get(check, now).is_err());
}

#[test]
fn nothing_is_cached_while_announcements_are_not_received() {
    let (denial_cache, rules, now) = with_denial();
    let check = ChargedRules { tenant: TENANT, version: 1, cost: 1, rules: &rules, is_far: false };
    denial_cache.set_connected(weir_redis::placement::Buckets::NONE);
    assert!(denial_cache.get(check, now).is_err());
    let generation = generation(&denial_cache, &rules, now);
    denial_cache.insert(generation, check, &[denied(0, 10_000)], now);
    assert!(denial_cache.get(check, now).is_err());
}

#[test]
fn tenant_with_many_denied_subjects_evicts_no_denial_of_another() {
    let (denial_cache, mut rules, now) = with_denial();
    let flooding = TenantId::from_u128(2);
    for subject in 0..(2 * SHARDS * SUBJECTS_MAX) {
        rules[0].subject = SubjectKey(subject as u128);
        let generation = generation(&denial_cache, &rules, now);
        let check =
            ChargedRules { tenant: flooding, version: 1, cost: 1, rules: &rules, is_far: false };
        denial_cache.insert(generation, check, &[denied(0, 10_000)], now);
    }
    let held: usize = denial_cache.shards.each().map(|shard| shard.denials.len()).sum();
    assert!(held <= SHARDS * SUBJECTS_MAX / 4 + 1, "{held}");
    rules[0].subject = SubjectKey(7);
    let check = ChargedRules { tenant: TENANT, version: 1, cost: 1, rules: &rules, is_far: false };
    assert!(denial_cache.get(check, now).is_ok());
}

#[test]
fn denial_by_counters_of_another_region_is_cached_for_a_second() {
    let (denial_cache, rules, now) = with_denial();
    for (is_far, longest_ms) in [(false, 5_000), (true, 1_000)] {
        let check = ChargedRules { tenant: TENANT, version: 1, cost: 1, rules: &rules, is_far };
        denial_cache.clear();
        let generation = denial_cache.get(check, now).expect_err("not cached");
        denial_cache.insert(generation, check, &[denied(0, 10_000)], now);
        let at = |ms: u64| denial_cache.get(check, now + Duration::from_millis(ms)).is_ok();
        assert_eq!((at(longest_ms - 1), at(longest_ms)), (true, false), "far: {is_far}");
    }
}
