//! Leases: the rules that are leased, the size of a lease, and the events that end it.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::FutureExt as _;
use weir_domain::algorithm::Period;
use weir_domain::draft::{Consistency, LimitDraft, RuleDraft};
use weir_domain::id::RuleId;
use weir_domain::overrides::Overrides;
use weir_domain::rule::Rule;
use weir_domain::rulebook::ActiveRule;
use weir_domain::spread::SpreadKey;
use weir_domain::time::Micros;

use super::*;

const TENANT: TenantId = TenantId::from_u128(1);
/// A whole minute by Redis' clock.
const AT: Micros = Micros(1_763_726_400_000_000);

fn rule(consistency: Consistency, limits: Vec<LimitDraft>) -> [RuleCharge; 1] {
    let draft = RuleDraft {
        name: "rule".into(),
        count_by: vec!["user".into()],
        limits,
        consistency,
        ..RuleDraft::default()
    };
    let rule = Rule::parse(draft).expect("a rule");
    let active = Arc::new(ActiveRule::new(RuleId::from_u128(1), rule, Overrides::default()));
    [RuleCharge::new(active, SubjectKey(7), SpreadKey::NONE)]
}

fn window(limit: u64, window_ms: u64) -> LimitDraft {
    LimitDraft::FixedWindow { limit, window_ms }
}

fn leased_window() -> [RuleCharge; 1] {
    leased_window_of(1_000)
}

fn leased_window_of(limit: u64) -> [RuleCharge; 1] {
    rule(Consistency::Leased, vec![window(limit, 60_000)])
}

fn connected() -> Leases {
    let leases = Leases::new();
    leases.set_connected(weir_redis::placement::Buckets::ALL, Instant::now());
    leases
}

/// The decision of Redis when it gives units and `remaining` are left.
fn given(remaining: u64, reset_after_ms: u64) -> Vec<Decision> {
    let (allowed, retry_after_ms) = (true, Some(0));
    vec![Decision {
        allowed,
        remaining,
        reset_after_ms,
        retry_after_ms,
        delay_ms: 0,
        returned: false,
    }]
}

fn take(leases: &Leases, rules: &[RuleCharge], cost: u64, now: Instant) -> LeaseRequest {
    match leases.spend(TENANT, rules, cost, now) {
        LeaseOutcome::Take(request) => request,
        other => panic!("{other:?}"),
    }
}

fn is_here(leases: &Leases, rules: &[RuleCharge], now: Instant) -> bool {
    matches!(leases.spend(TENANT, rules, 1, now), LeaseOutcome::Admitted(..))
}

/// A lease of three units more than the first check needed.
fn with_three(leases: &Leases, rules: &[RuleCharge], now: Instant) {
    let mut request = take(leases, rules, 1, now);
    request.ask_for(4);
    let decisions = request.given(AT, given(996, 30_000), now);
    assert_eq!(decisions[0].remaining, 999, "leased units remain too");
}

fn returned(unsettled: &[Unsettled]) -> Vec<Origin> {
    unsettled.iter().map(|entry| entry.origin).collect()
}

const THREE: Origin = Origin::Return { units: 3, ends: Micros(AT.0 + 30_000_000) };

#[test]
fn only_single_windows_of_leased_rules_are_leased() {
    let (leases, now) = (connected(), Instant::now());
    let bucket = LimitDraft::TokenBucket { capacity: 9, refill_tokens: 9, refill_interval_ms: 9 };
    let two = vec![window(600, 60_000), window(100_000, 86_400_000)];
    for rules in [
        rule(Consistency::Leased, vec![bucket]),
        rule(Consistency::Exact, vec![window(9, 9_000)]),
        rule(Consistency::Leased, two),
    ] {
        assert!(matches!(leases.spend(TENANT, &rules, 1, now), LeaseOutcome::NotLeased));
    }
    let two_rules = [leased_window(), leased_window()].concat();
    assert!(matches!(leases.spend(TENANT, &two_rules, 1, now), LeaseOutcome::NotLeased));
}

#[test]
fn units_go_to_checks_until_they_are_used_up_or_their_window_ends() {
    let (leases, rules, now) = (connected(), leased_window(), Instant::now());
    with_three(&leases, &rules, now);
    assert!(is_here(&leases, &rules, now));
    let late = now + Duration::from_millis(29_999);
    assert!(!is_here(&leases, &rules, late), "the window is about to end");
    assert!(is_here(&leases, &rules, now) && is_here(&leases, &rules, now));
    assert!(!is_here(&leases, &rules, now), "used up");
}

#[test]
fn only_one_request_for_units_is_in_flight() {
    let (leases, rules, now) = (connected(), leased_window(), Instant::now());
    let request = take(&leases, &rules, 1, now);
    assert!(matches!(leases.spend(TENANT, &rules, 1, now), LeaseOutcome::NotLeased));
    request.not_taken();
    drop(take(&leases, &rules, 1, now));
}

#[test]
fn lease_has_the_units_of_two_seconds_and_at_most_one_percent_of_the_limit() {
    let sizes = |limit: u64, every: Duration| {
        let rules = rule(Consistency::Leased, vec![window(limit, 3_600_000)]);
        let (leases, mut now) = (connected(), Instant::now());
        let mut sizes = Vec::new();
        while sizes.len() < 8 {
            if let LeaseOutcome::Take(request) = leases.spend(TENANT, &rules, 1, now) {
                sizes.push(request.units());
                request.given(AT, given(limit / 2, 3_000_000), now);
            }
            now += every;
        }
        sizes
    };
    assert_eq!(sizes(100_000, Duration::from_millis(100)), [1, 1, 4, 8, 16, 20, 20, 20]);
    assert_eq!(sizes(1_000, Duration::from_millis(1)), [1, 1, 4, 8, 11, 11, 11, 11]);
    assert_eq!(
        sizes(100_000, Duration::from_secs(3)),
        [1; 8],
        "used less than once in two seconds"
    );
    assert_eq!(sizes(200, Duration::from_millis(1)), [1, 1, 3, 3, 3, 3, 3, 3], "1 % of the limit");
    assert_eq!(sizes(99, Duration::from_millis(1)), [1; 8], "no unit is 1 % of the limit");
    assert_eq!(sizes(100_000, Duration::from_millis(400)), [1, 1, 4, 5, 5, 5, 5, 5]);
    assert_eq!(sizes(100_000, Duration::from_millis(700)), [1; 8], "three checks in two seconds");
}

#[test]
fn last_units_are_left_for_other_gates() {
    let (leases, rules, now) = (connected(), leased_window(), Instant::now());
    let take_and_use = |remaining| {
        let request = take(&leases, &rules, 1, now);
        let units = request.units();
        request.given(AT, given(remaining, 30_000), now);
        for _ in 1..units {
            assert!(is_here(&leases, &rules, now));
        }
        units
    };
    assert_eq!([500, 500, 500, 48, 20].map(take_and_use), [1, 1, 4, 8, 6], "an eighth of 48 units");
    assert_eq!(take_and_use(500), 1, "an eighth of 20 units decides too few checks");
}

#[test]
fn edited_rule_returns_its_units() {
    let (leases, rules, now) = (connected(), leased_window(), Instant::now());
    with_three(&leases, &rules, now);
    assert!(!is_here(&leases, &leased_window(), now));
    assert_eq!(returned(&leases.take_unsettled(false, now)), [THREE]);
}

#[test]
fn units_follow_their_counter_into_a_longer_window_and_end_with_a_shorter_one() {
    for (window_ms, is_returned) in [(3_600_000, true), (1_000, false)] {
        let (leases, rules, now) = (connected(), leased_window(), Instant::now());
        let mut request = take(&leases, &rules, 1, now);
        request.ask_for(4);
        request.given(Micros(AT.0 + 30_500_000), given(996, 29_500), now);
        let edited = rule(Consistency::Leased, vec![window(1_000, window_ms)]);
        assert!(!is_here(&leases, &edited, now));
        let unsettled = leases.take_unsettled(false, now);
        assert_eq!(unsettled.len(), usize::from(is_returned), "{window_ms}");
        for entry in unsettled {
            assert_eq!(entry.charge.limits()[0].algorithm.window_ms(), Some(window_ms));
        }
    }
}

#[test]
fn lost_subscription_returns_all_units_and_stops_leasing() {
    let (leases, rules, now) = (connected(), leased_window(), Instant::now());
    with_three(&leases, &rules, now);
    leases.set_connected(weir_redis::placement::Buckets::NONE, now);
    assert!(matches!(leases.spend(TENANT, &rules, 1, now), LeaseOutcome::NotLeased));
    assert_eq!(returned(&leases.take_unsettled(false, now)), [THREE]);
    assert_eq!(leases.take_lost(), 0);
}

#[test]
fn units_that_arrive_after_the_subscription_was_lost_are_returned() {
    let (leases, rules, now) = (connected(), leased_window(), Instant::now());
    let mut request = take(&leases, &rules, 1, now);
    request.ask_for(4);
    leases.set_connected(weir_redis::placement::Buckets::NONE, now);
    leases.set_connected(weir_redis::placement::Buckets::ALL, now);
    request.given(AT, given(996, 30_000), now);
    assert_eq!(returned(&leases.take_unsettled(false, now)), [THREE]);
}

#[test]
fn reset_drops_units_and_those_of_a_request_in_flight() {
    let (leases, rules, now) = (connected(), leased_window(), Instant::now());
    with_three(&leases, &rules, now);
    leases.reset(TENANT, SubjectKey(7));
    assert!(!is_here(&leases, &rules, now));
    let mut before = take(&leases, &rules, 1, now);
    before.ask_for(4);
    leases.reset(TENANT, SubjectKey(7));
    before.given(AT, given(996, 30_000), now);
    assert!(!is_here(&leases, &rules, now));
    assert_eq!(leases.take_unsettled(true, now).len(), 0, "the counter was emptied");
    assert_eq!(leases.take_lost(), 3, "they were possibly taken after the reset");
}

#[test]
fn reset_leaves_the_same_subject_of_another_tenant() {
    let (leases, rules, now) = (connected(), leased_window(), Instant::now());
    with_three(&leases, &rules, now);
    leases.reset(TenantId::from_u128(2), SubjectKey(7));
    assert!(is_here(&leases, &rules, now));
    let mut before = take(&leases, &rules, 3, now);
    before.ask_for(6);
    leases.reset(TenantId::from_u128(2), SubjectKey(7));
    before.given(AT, given(994, 30_000), now);
    assert!(is_here(&leases, &rules, now), "units in flight arrive");
    assert_eq!(leases.take_lost(), 0);
}

#[test]
fn loss_of_data_drops_all_units_and_returns_none() {
    let (leases, rules, now) = (connected(), leased_window(), Instant::now());
    with_three(&leases, &rules, now);
    leases.reset_all();
    assert!(!is_here(&leases, &rules, now));
    with_three(&leases, &rules, now);
    leases.set_connected(weir_redis::placement::Buckets::NONE, now);
    leases.reset_all();
    assert_eq!(leases.take_unsettled(true, now).len(), 0, "there is no counter to return them to");
}

#[test]
fn idle_units_are_returned_once() {
    let (leases, rules, now) = (connected(), leased_window(), Instant::now());
    with_three(&leases, &rules, now);
    assert_eq!(leases.take_unsettled(false, now).len(), 0);
    assert_eq!(returned(&leases.take_unsettled(false, now + IDLE)), [THREE]);
    assert_eq!(leases.take_unsettled(true, now).len(), 0);
    assert!(leases.store.shards.each().all(|shard| shard.leases.len() == 0));
}

#[test]
fn request_without_an_answer_is_settled_later_by_the_same_key() {
    let (leases, rules, now) = (connected(), leased_window(), Instant::now());
    let mut request = take(&leases, &rules, 1, now);
    request.ask_for(4);
    let key = request.idempotency().expect("the request is for more than its cost").key;
    drop(request);
    let unsettled = leases.take_unsettled(false, now);
    assert_eq!(returned(&unsettled), [Origin::Unanswered { units: 4, cost: 1 }]);
    let call = unsettled[0].call(leases.ids());
    assert_eq!(call.idempotency.map(|idempotency| idempotency.key), Some(key));
    assert!(is_taken_again(&leases, &rules, now), "the next check can request units");
}

#[test]
fn units_of_a_day_follow_their_counter_into_its_month() {
    let quota = |period| LimitDraft::Quota {
        limit: 1_000,
        period,
        time_zone: "UTC".into(),
        anchor_day: 1,
        ends_at: None,
    };
    let (leases, now) = (connected(), Instant::now());
    let day = rule(Consistency::Leased, vec![quota(Period::Day)]);
    with_three(&leases, &day, now);
    let month = rule(Consistency::Leased, vec![quota(Period::Month)]);
    assert!(!is_here(&leases, &month, now));
    let returned = leases.take_unsettled(false, now).pop().expect("units to return");
    assert!(Arc::ptr_eq(&returned.charge.active, &month[0].active));
}

fn is_taken_again(leases: &Leases, rules: &[RuleCharge], now: Instant) -> bool {
    matches!(leases.spend(TENANT, rules, 1, now), LeaseOutcome::Take(_))
}

#[test]
fn unsettled_units_are_retried_until_their_window_ends_and_then_counted_as_lost() {
    let (leases, rules, now) = (connected(), leased_window(), Instant::now());
    with_three(&leases, &rules, now);
    let entry = leases.take_unsettled(true, now).pop().expect("a return");
    leases.keep_unsettled(entry, now);
    let entry = leases.take_unsettled(false, now).pop().expect("the same return");
    leases.keep_unsettled(entry, now + Duration::from_secs(30));
    assert_eq!(leases.take_unsettled(true, now).len(), 0);
    assert_eq!(leases.take_lost(), 3);
}

#[test]
fn one_tenants_leases_leave_room_for_those_of_others() {
    let (leases, now) = (connected(), Instant::now());
    let of = |subject: u128| {
        let [charge] = leased_window();
        [RuleCharge { subject: SubjectKey(subject), ..charge }]
    };
    for subject in 0..40_000 {
        let rules = of(subject);
        if let LeaseOutcome::Take(request) = leases.spend(TENANT, &rules, 1, now) {
            request.given(AT, given(900, 30_000), now);
        }
    }
    let other = leases.spend(TenantId::from_u128(2), &of(7), 1, now);
    assert!(matches!(other, LeaseOutcome::Take(_)));
    let held: usize = leases.store.shards.each().map(|shard| shard.leases.len()).sum();
    assert!(held <= 16 * LEASES_MAX / 4 + 1, "{held}");
}

fn approximate(limit: LimitDraft) -> [RuleCharge; 1] {
    rule(Consistency::Approximate, vec![limit])
}

fn bucket(capacity: u64) -> LimitDraft {
    LimitDraft::TokenBucket { capacity, refill_tokens: 10, refill_interval_ms: 1_000 }
}

fn counter(window_ms: u64) -> LimitDraft {
    LimitDraft::SlidingWindowCounter { limit: 1_000, window_ms }
}

#[test]
fn approximate_rules_lease_buckets_counters_and_the_windows_of_overrides() {
    let (leases, now) = (connected(), Instant::now());
    for (limit, is_leased) in
        [(bucket(1_000), true), (counter(60_000), true), (counter(9_999), false)]
    {
        let found = leases.spend(TENANT, &approximate(limit.clone()), 1, now);
        assert_eq!(matches!(found, LeaseOutcome::Take(_)), is_leased, "{limit:?}");
    }
}

#[test]
fn units_of_a_bucket_are_used_for_ten_seconds_and_can_be_returned_later() {
    let (leases, rules, now) = (connected(), approximate(bucket(1_000)), Instant::now());
    with_three(&leases, &rules, now);
    assert!(is_here(&leases, &rules, now + Duration::from_millis(9_999)));
    let late = now + Duration::from_secs(10);
    assert!(!is_here(&leases, &rules, late));
    let unsettled = leases.take_unsettled(false, late);
    let [Unsettled { origin: Origin::Return { units: 2, ends }, .. }] = unsettled.as_slice() else {
        panic!("{unsettled:?}");
    };
    assert!(*ends > Micros(AT.0 + 1_000_000_000_000), "a bucket has no window that ends");
    assert!(unsettled[0].can_be_tried_at(late));
}

/// The counter is as if unused after the next window, so the present one ends a window earlier.
#[test]
fn units_of_a_sliding_window_counter_rest_in_the_last_two_seconds_of_their_window() {
    let (leases, rules, now) = (connected(), approximate(counter(60_000)), Instant::now());
    let mut request = take(&leases, &rules, 1, now);
    request.ask_for(4);
    request.given(AT, given(996, 90_000), now);
    assert!(is_here(&leases, &rules, now + Duration::from_millis(27_997)));
    let rest = now + Duration::from_millis(27_998);
    assert!(matches!(leases.spend(TENANT, &rules, 1, rest), LeaseOutcome::NotLeased));
    let ends = Micros(AT.0 + 30_000_000);
    let unsettled = leases.take_unsettled(false, rest);
    assert_eq!(returned(&unsettled), [Origin::Return { units: 2, ends }]);
    assert!(is_taken_again(&leases, &rules, now + Duration::from_secs(30)), "in the next window");
}

#[test]
fn approximate_lease_takes_no_units_while_others_are_unsettled() {
    let (leases, rules, mut now) = (connected(), approximate(bucket(100_000)), Instant::now());
    let asks_for_more = |now: &mut Instant| {
        // As many checks as a lease needs to grow.
        for _ in 0..100 {
            *now += Duration::from_millis(1);
            if let LeaseOutcome::Take(request) = leases.spend(TENANT, &rules, 1, *now) {
                let more = request.asks_for_more();
                request.given(AT, given(50_000, 30_000), *now);
                if more {
                    return true;
                }
            }
        }
        false
    };
    assert!(asks_for_more(&mut now));
    leases.set_connected(weir_redis::placement::Buckets::NONE, now);
    leases.set_connected(weir_redis::placement::Buckets::ALL, now);
    assert!(!asks_for_more(&mut now), "units of the lease that ended are not returned");
    let unsettled = leases.take_unsettled(false, now);
    assert!(!unsettled.is_empty());
    assert!(!asks_for_more(&mut now), "their return is in flight");
    drop(unsettled);
    assert!(asks_for_more(&mut now));
}

/// The number of checks of ten seconds, at 50 a second, that no lease decides after the first second. The far home answers after
/// 150 ms.
fn waiting(is_early: bool) -> usize {
    const ROUND_TRIP: Duration = Duration::from_millis(150);
    let (leases, rules, start) = (connected(), leased_window_of(1_000_000), Instant::now());
    let mut asked: VecDeque<(Instant, LeaseRequest)> = VecDeque::new();
    let mut waiting = 0;
    for at in 0..550 {
        let now = start + Duration::from_millis(at * 20);
        while let Some((_, request)) = asked.pop_front_if(|(due, _)| *due <= now) {
            request.settle(AT, given(900_000, 3_000_000), now).expect("Redis gave the units");
        }
        let outcome = leases.spend(TENANT, &rules, 1, now);
        if at >= 50 && !matches!(outcome, LeaseOutcome::Admitted(..)) {
            waiting += 1;
        }
        if let LeaseOutcome::Take(request) = outcome {
            asked.push_back((now + ROUND_TRIP, request));
        } else if is_early && matches!(outcome, LeaseOutcome::Admitted(..)) {
            leases.take_early(TENANT, &rules[0], 2 * ROUND_TRIP, now);
        }
        let early = leases.early_requests().now_or_never().unwrap_or_default();
        asked.extend(early.into_iter().map(|request| (now + ROUND_TRIP, request)));
    }
    waiting
}

#[test]
fn steady_rate_never_waits_for_a_far_home_if_units_are_taken_early() {
    assert!(waiting(false) > 20, "{}", waiting(false));
    assert_eq!(waiting(true), 0);
}

#[test]
fn early_request_that_is_denied_asks_for_fewer_units_the_next_time() {
    let (leases, rules, now) = (connected(), leased_window_of(10_000), Instant::now());
    let early = |now: Instant| {
        assert!(is_here(&leases, &rules, now));
        leases.take_early(TENANT, &rules[0], Duration::from_secs(1), now);
        leases.early_requests().now_or_never().and_then(|mut requests| requests.pop())
    };
    for _ in 0..3 {
        take(&leases, &rules, 1, now).given(AT, given(9_000, 30_000), now);
    }
    assert!(is_here(&leases, &rules, now));
    let request = early(now).expect("one unit of three is left");
    let denied = vec![Decision { allowed: false, ..given(7, 30_000)[0] }];
    assert!(request.settle(AT, denied, now).is_none());
    assert!(early(now).is_none(), "an eighth of seven is none");
}
