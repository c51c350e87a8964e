//! The wait of a denial is exact, and no window ever holds more than its limit.

use std::collections::BTreeSet;

use weir_domain::algorithm::Kind;
use weir_domain::charge::RuleCharge;
use weir_domain::draft::LimitDraft;
use weir_domain::request::Operation;
use weir_domain::time::Micros;

use super::fixture::{
    Fixture, START_US, charge_of, charge_with_block, log_of_denials, of_kind, one_of_each, passed,
};
use super::twin::Random;

/// Denied checks of a random history pass when they are repeated after exactly the longest wait, and not a millisecond
/// before.
async fn waits_are_exact(seed: u64, rules: &[RuleCharge]) {
    let fixture = Fixture::new().await;
    let mut random = Random(seed);
    let mut denied = 0;
    for step in 0..300 {
        fixture.set_now(Micros(fixture.now().0 + random.below(400_000)));
        let cost = if random.one_in(3) { random.between(1, 4) } else { 1 };
        let decisions = fixture.check(Operation::Consume, cost, rules).await;
        if passed(&decisions) {
            continue;
        }
        let now = fixture.now();
        let waits = decisions.iter().map(|decision| decision.retry_after_ms);
        let Some(wait_ms) = waits.collect::<Option<Vec<_>>>().map(|waits| waits.into_iter().max())
        else {
            continue; // The check can never pass.
        };
        let wait_ms = wait_ms.expect("there are limits");
        denied += 1;
        fixture.pass_ms(wait_ms - 1);
        let before = fixture.check(Operation::Peek, cost, rules).await;
        assert!(!passed(&before), "seed {seed}, step {step}: already after {wait_ms} - 1 ms");
        fixture.pass_ms(1);
        let after = fixture.check(Operation::Peek, cost, rules).await;
        assert!(passed(&after), "seed {seed}, step {step}: not after {wait_ms} ms: {after:?}");
        fixture.set_now(now);
    }
    assert!(denied > 20, "hardly ever denied: {denied}");
}

#[tokio::test]
async fn asking_again_after_exactly_the_wait_passes_and_a_millisecond_earlier_does_not() {
    for (seed, limit) in (1..).zip(one_of_each(4, 2_000)) {
        waits_are_exact(seed, &[charge_of(1, vec![limit])]).await;
    }
    waits_are_exact(8, &[charge_of(1, vec![log_of_denials(4, 2_000)])]).await;
}

#[tokio::test]
async fn wait_is_exact_with_a_block_whichever_lasts_longer() {
    for block_ms in [1, 300, 2_500] {
        for (seed, limit) in (1..).zip(one_of_each(4, 1_000)) {
            waits_are_exact(seed, &[charge_with_block(1, block_ms, vec![limit])]).await;
        }
        let log = vec![log_of_denials(4, 1_000)];
        waits_are_exact(8, &[charge_with_block(1, block_ms, log)]).await;
    }
}

#[tokio::test]
async fn wait_is_exact_for_several_rules_together() {
    let limits = one_of_each(6, 1_500);
    let rules = [
        charge_of(1, limits[..3].to_vec()),
        charge_with_block(2, 700, limits[3..6].to_vec()),
        charge_of(3, vec![log_of_denials(7, 900), LimitDraft::Spacing { interval_ms: 17 }]),
    ];
    for seed in 1..4 {
        waits_are_exact(seed, &rules).await;
    }
}

/// The times and costs that a limit admits in a random history that never steps back.
async fn admissions(limit: LimitDraft) -> Vec<(u64, u64)> {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![limit])];
    let mut random = Random(5);
    let mut admitted = Vec::new();
    for _ in 0..500 {
        fixture.set_now(Micros(fixture.now().0 + random.below(120_000)));
        let cost = random.between(1, 3);
        if passed(&fixture.check(Operation::Consume, cost, &rules).await) {
            admitted.push((fixture.now().0, cost));
        }
    }
    assert!(admitted.len() > 5, "{}", admitted.len());
    admitted
}

/// The most units in any span of this length that begins with an admission.
fn most_within(admitted: &[(u64, u64)], span_us: u64) -> u64 {
    let from = |at: usize| {
        let later =
            admitted[at..].iter().take_while(|(taken_us, _)| *taken_us < admitted[at].0 + span_us);
        later.map(|(_, units)| units).sum()
    };
    (0..admitted.len()).map(from).max().unwrap_or(0)
}

fn most_aligned(admitted: &[(u64, u64)], window_us: u64) -> u64 {
    let of = |at: u64| {
        admitted.iter().filter(move |(taken_us, _)| taken_us / window_us == at / window_us)
    };
    admitted
        .iter()
        .map(|(taken_us, _)| of(*taken_us).map(|(_, units)| units).sum())
        .max()
        .unwrap_or(0)
}

#[tokio::test]
async fn no_window_holds_more_than_the_limit() {
    const LIMIT: u64 = 7;
    const WINDOW_US: u64 = 900_000;
    let of = |kind| of_kind(kind, LIMIT, WINDOW_US / 1000);
    assert_eq!(most_aligned(&admissions(of(Kind::FixedWindow)).await, WINDOW_US), LIMIT);
    assert_eq!(most_within(&admissions(of(Kind::SlidingWindowLog)).await, WINDOW_US), LIMIT);
    assert!(most_aligned(&admissions(of(Kind::SlidingWindowCounter)).await, WINDOW_US) <= LIMIT);
    for bucket in [of(Kind::TokenBucket), of(Kind::LeakyBucket)] {
        let admitted = admissions(bucket).await;
        for at in 0..admitted.len() {
            for to in at..admitted.len() {
                let units: u64 = admitted[at..=to].iter().map(|(_, units)| units).sum();
                let flowed = (admitted[to].0 - admitted[at].0) * LIMIT;
                assert!(units * WINDOW_US <= LIMIT * WINDOW_US + flowed);
            }
        }
    }
    let spaced = admissions(of(Kind::Spacing)).await;
    assert!(spaced.windows(2).all(|pair| pair[1].0 - pair[0].0 >= WINDOW_US));
    assert_eq!(most_aligned(&admissions(of_kind(Kind::Quota, 40, 1)).await, 86_400_000_000), 40);
}

/// Thirty workers that wait for their delays, at a bucket with room for all of them.
#[tokio::test]
async fn workers_at_a_leaky_bucket_with_room_for_all_get_equally_many_turns() {
    const WORKERS: usize = 30;
    let limit = LimitDraft::LeakyBucket { capacity: 31, drain_units: 20, drain_interval_ms: 1_000 };
    let rules = [charge_of(1, vec![limit])];
    let fixture = Fixture::new().await;
    let mut turns = [0; WORKERS];
    let mut next: BTreeSet<(u64, usize)> = (0..WORKERS).map(|worker| (0, worker)).collect();
    while let Some((at_ms, worker)) = next.pop_first().filter(|(at_ms, _)| *at_ms < 10_000) {
        fixture.set_now(Micros(START_US + at_ms * 1000));
        let decision = fixture.check(Operation::Consume, 1, &rules).await[0];
        assert!(decision.allowed, "{at_ms}: {decision:?}");
        turns[worker] += 1;
        next.insert((at_ms + decision.delay_ms + 1, worker));
    }
    let (least, most) = (turns.iter().min(), turns.iter().max());
    assert!(least >= Some(&6) && most <= least.map(|turns| turns + 1).as_ref(), "{turns:?}");
}
