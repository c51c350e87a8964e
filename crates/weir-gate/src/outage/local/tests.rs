//! Local counters: eviction, and the denials of an outage.

use std::sync::Arc;

use weir_domain::draft::{LimitDraft, OnStoreFailure, RuleDraft};
use weir_domain::id::RuleId;
use weir_domain::overrides::Overrides;
use weir_domain::rule::Rule;
use weir_domain::rulebook::ActiveRule;
use weir_domain::spread::SpreadKey;
use weir_domain::subject::SubjectKey;
use weir_domain::time::Timestamp;

use super::*;

const A: TenantId = TenantId::from_u128(1);
const B: TenantId = TenantId::from_u128(2);

fn local() -> Local {
    Local::new(Clock::new(|| Timestamp::from_millis(1_763_726_400_000)))
}

fn rule(limit: LimitDraft) -> RuleCharge {
    let draft = RuleDraft {
        name: "rule".into(),
        count_by: vec!["user".into()],
        limits: vec![limit],
        on_store_failure: OnStoreFailure::Local,
        ..RuleDraft::default()
    };
    let rule = Rule::parse(draft).expect("a rule");
    let active = Arc::new(ActiveRule::new(RuleId::from_u128(1), rule, Overrides::default()));
    RuleCharge::new(active, SubjectKey(0), SpreadKey::NONE)
}

fn of(rule: &RuleCharge, subject: u128) -> [RuleCharge; 1] {
    [RuleCharge { subject: SubjectKey(subject), ..rule.clone() }]
}

fn admits(local: &Local, tenant: TenantId, charges: &[RuleCharge]) -> bool {
    local.decide(tenant, Operation::Consume, 1, charges)[0].allowed
}

#[test]
fn counters_with_nothing_left_survive_any_number_of_other_subjects() {
    let local = local();
    let rule = rule(LimitDraft::FixedWindow { limit: 5, window_ms: 86_400_000 });
    for tenant in [A, B] {
        let admitted = (0..20).filter(|_| admits(&local, tenant, &of(&rule, 7))).count();
        assert_eq!(admitted, 5);
    }
    for _ in 0..3 {
        for subject in 1_000..40_000 {
            admits(&local, B, &of(&rule, subject));
        }
        assert!(!admits(&local, A, &of(&rule, 7)), "another tenant");
        assert!(!admits(&local, B, &of(&rule, 7)), "the same tenant");
    }
    let held: usize = local.shards.each().map(|shard| shard.0.len()).sum();
    assert!(held <= TENANT_COUNTERS_MAX + 1, "{held}");
}

#[test]
fn check_without_room_for_its_counter_is_denied_for_now() {
    let local = local();
    let rule = rule(LimitDraft::FixedWindow { limit: 1, window_ms: 86_400_000 });
    for subject in 0..TENANT_COUNTERS_MAX as u128 {
        assert!(admits(&local, A, &of(&rule, subject)));
    }
    let decisions = local.decide(A, Operation::Consume, 1, &of(&rule, u128::MAX));
    assert_eq!((decisions[0].allowed, decisions[0].retry_after_ms), (false, Some(1_000)));
    assert!(admits(&local, B, &of(&rule, 7)), "other tenants have room");
}

#[test]
fn cost_above_the_share_is_denied_for_now_and_above_the_limit_for_ever() {
    let local = local();
    local.set_live_gates(LiveGates { all: 8, of_region: 4 });
    let rule = of(&rule(LimitDraft::FixedWindow { limit: 100, window_ms: 60_000 }), 7);
    let retry = |cost| local.decide(A, Operation::Consume, cost, &rule)[0].retry_after_ms;
    assert_eq!(retry(50), Some(RETRY_AFTER_MS));
    assert_eq!(retry(101), None);
    assert_eq!(retry(25), Some(0));
}

#[test]
fn log_never_exceeds_its_limit_and_its_entries_are_bounded() {
    let clock = Arc::new(AtomicU64::new(1_763_726_400_000));
    let now_ms = Arc::clone(&clock);
    let now = move || Timestamp::from_millis(now_ms.load(Ordering::Relaxed).cast_signed());
    let local = Local::new(Clock::new(now));
    let log = LimitDraft::SlidingWindowLog { limit: 5_000, window_ms: 60_000, count_denied: false };
    let rule = of(&rule(log), 7);
    let mut admitted = Vec::new();
    for _ in 0..20_000 {
        let at = clock.fetch_add(11, Ordering::Relaxed);
        if admits(&local, A, &rule) {
            admitted.push(at);
        }
    }
    for (at, first) in admitted.iter().enumerate() {
        let in_a_minute = admitted[at..].iter().take_while(|&&at| at < first + 60_000).count();
        assert!(in_a_minute <= 5_000, "{in_a_minute} in a minute");
    }
    assert!(admitted.len() > 3 * 4_900, "{} of four minutes", admitted.len());
    let mut entries = 0;
    for mut shard in local.shards.each() {
        shard.0.retain(|_, _, local| {
            entries = entries.max(local.counter.entries());
            true
        });
    }
    assert!((1..=256).contains(&entries), "{entries}");
}
