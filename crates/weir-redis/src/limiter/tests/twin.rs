//! Twins: the script and `weir_domain::decide` give the same answers over random histories.

use weir_domain::algorithm::Period;
use weir_domain::charge::RuleCharge;
use weir_domain::draft::{LimitDraft, Mode, RuleDraft};
use weir_domain::request::Operation;
use weir_domain::rule::{Rule, Slots};
use weir_domain::time::Micros;

use super::fixture::{Fixture, START_US, charge, draft};
use crate::limiter::Answer;

/// `SplitMix64`: small, seeded, the same on every machine.
pub(super) struct Random(pub(super) u64);

/// One rule as it stands at some point of a history.
struct Edited {
    id: u128,
    /// Whether it counts by something else than the others.
    apart: bool,
    rule: Rule,
    slots: Slots,
}

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

fn units(random: &mut Random) -> u64 {
    match random.below(10) {
        0 => 1,
        1 => random.between(1_000, 2_000_000),
        _ => random.between(1, 12),
    }
}

fn span_ms(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => random.between(1, 20),
        1 => random.between(10_000, 100_000),
        _ => random.between(100, 5_000),
    }
}

fn limit(random: &mut Random, kind: u64) -> LimitDraft {
    let (limit, window_ms) = (units(random), span_ms(random));
    match kind {
        0 => LimitDraft::FixedWindow { limit, window_ms },
        1 => {
            let count_denied = random.one_in(2);
            LimitDraft::SlidingWindowLog { limit: limit.min(10_000), window_ms, count_denied }
        }
        2 => LimitDraft::SlidingWindowCounter { limit, window_ms },
        3 => LimitDraft::TokenBucket {
            capacity: limit,
            refill_tokens: units(random).min(5_000),
            refill_interval_ms: window_ms,
        },
        4 => LimitDraft::LeakyBucket {
            capacity: limit,
            drain_units: units(random).min(5_000),
            drain_interval_ms: window_ms,
        },
        5 => LimitDraft::Spacing { interval_ms: window_ms },
        _ => LimitDraft::Quota {
            limit,
            period: Period::ALL[usize::try_from(random.below(4)).expect("small")],
            time_zone: ["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns"]
                [usize::try_from(random.below(4)).expect("small")]
            .into(),
            anchor_day: 1,
        },
    }
}

fn random_rule(random: &mut Random, kinds: &[u64]) -> RuleDraft {
    let count = random.between(1, 3);
    let limits = (0..count).map(|_| {
        let kind = kinds[usize::try_from(random.below(kinds.len() as u64)).expect("small")];
        limit(random, kind)
    });
    let mut rule = draft(limits.collect());
    if random.one_in(4) {
        rule.mode = Mode::Shadow;
    }
    if random.one_in(4) {
        rule.block_ms = Some(span_ms(random));
    }
    rule
}

/// Changes the numbers of a rule's limits, or the limits themselves.
fn edit(random: &mut Random, edited: &mut Edited, kinds: &[u64]) {
    let draft = match random.below(3) {
        0 => random_rule(random, kinds),
        _ => {
            let mut draft = edited.rule.draft().clone();
            for limit in &mut draft.limits {
                let more = random.between(1, 15);
                match limit {
                    LimitDraft::FixedWindow { limit, .. }
                    | LimitDraft::SlidingWindowLog { limit, .. }
                    | LimitDraft::SlidingWindowCounter { limit, .. }
                    | LimitDraft::Quota { limit, .. } => *limit = more,
                    LimitDraft::TokenBucket { capacity, refill_tokens, .. } => {
                        (*capacity, *refill_tokens) = (more, more.min(*refill_tokens));
                    }
                    LimitDraft::LeakyBucket { capacity, drain_units, .. } => {
                        (*capacity, *drain_units) = (more, more.min(*drain_units));
                    }
                    LimitDraft::Spacing { interval_ms } => *interval_ms = more,
                }
            }
            draft
        }
    };
    let rule = Rule::parse(draft).expect("edits keep to the bounds");
    edited.slots = rule.slots_after(&edited.rule, &edited.slots).expect("slots are left");
    edited.rule = rule.with_slots(&edited.slots.taken);
}

/// Those of the rules that a request meets, mostly all and in their order, mostly for the same of two subjects.
fn some(random: &mut Random, rules: &[Edited]) -> Vec<RuleCharge> {
    let subject = u128::from(random.below(2));
    let (all, turned) = (random.one_in(2), random.one_in(4));
    let met = rules.iter().filter(|_| all || !random.one_in(4));
    let mut charges: Vec<_> = met
        .map(|it| charge(it.id, it.rule.clone(), if it.apart { subject + 2 } else { subject }))
        .collect();
    if turned {
        charges.reverse();
    }
    charges
}

fn step(random: &mut Random, now: Micros) -> Micros {
    let forward = match random.below(12) {
        0..=3 => 0,
        4..=5 => random.below(3_000),
        6..=8 => random.below(400_000),
        9 => random.below(20_000_000),
        10 if random.one_in(30) => random.below(40 * 86_400_000_000),
        // Back a little, as a slewing clock does, or a lot, as one that is set.
        10 => return Micros(now.0 - random.below(1_000_000)),
        _ if random.one_in(10) => return Micros(now.0 - random.below(4_000_000)),
        _ => random.below(60_000),
    };
    Micros(now.0 + forward)
}

async fn history(seed: u64, kinds: &[u64], steps: u32) {
    let mut random = Random(seed);
    let mut fixture = Fixture::new().await;
    fixture.set_now(Micros(START_US + random.below(100_000_000_000)));
    let mut rules: Vec<Edited> = (1..=random.between(1, 6))
        .map(|id| {
            let rule = Rule::parse(random_rule(&mut random, kinds)).expect("valid");
            let apart = random.one_in(4);
            Edited { id: u128::from(id), apart, slots: rule.first_slots(), rule }
        })
        .collect();
    let (mut passed, mut denied) = (0, 0);
    for at in 0..steps {
        fixture.set_now(step(&mut random, fixture.now()));
        if random.one_in(40) {
            let which = usize::try_from(random.below(rules.len() as u64)).expect("small");
            edit(&mut random, &mut rules[which], kinds);
        }
        let checks = if random.one_in(10) { random.between(2, 5) } else { 1 };
        let mut drawn = Vec::new();
        let mut expected = Vec::new();
        for _ in 0..checks {
            let operation = match random.below(20) {
                0 => Operation::Peek,
                1 => Operation::Inspect,
                2..=3 => Operation::Refund,
                _ => Operation::Consume,
            };
            let cost = match random.below(12) {
                0 => units(&mut random).min(1_000_000),
                1..=3 => random.between(1, 6),
                _ => 1,
            };
            let charges = some(&mut random, &rules);
            expected.push(fixture.check_twin(operation, cost, &charges));
            drawn.push((operation, cost, charges));
        }
        let asked: Vec<_> = drawn
            .iter()
            .map(|(operation, cost, charges)| fixture.asked(*operation, *cost, charges))
            .collect();
        let operations: Vec<_> = asked.iter().map(|it| (it.operation, it.cost)).collect();
        let answers = fixture.check_all(asked).await;
        for ((answer, expected), operation) in answers.into_iter().zip(expected).zip(operations) {
            let Answer::Decided(now, decisions) = answer else { panic!("not decided") };
            assert_eq!(now, fixture.now());
            assert_eq!(
                decisions,
                expected,
                "seed {seed}, step {at}, {operation:?} at {now:?}: Redis (left) and its twin differ; rules: {:#?}",
                rules.iter().map(|it| it.rule.draft()).collect::<Vec<_>>()
            );
            if decisions.iter().all(|it| it.allowed) { passed += 1 } else { denied += 1 }
        }
    }
    for (key, (_, ttl_ms)) in fixture.dump().await {
        assert!(ttl_ms > 0, "seed {seed}: {key} stays for ever");
    }
    assert!(
        passed > steps / 50 && denied > steps / 50,
        "one-sided: {passed} passed, {denied} denied"
    );
}

macro_rules! twins {
    ($($name:ident: $kinds:expr;)+) => {$(
        #[tokio::test]
        async fn $name() {
            for seed in 0..4 {
                history(seed * 7919 + 1, &$kinds, 1_000).await;
            }
        }
    )+};
}

twins! {
    fixed_window_agrees_with_its_twin: [0];
    sliding_window_log_agrees_with_its_twin: [1];
    sliding_window_counter_agrees_with_its_twin: [2];
    token_bucket_agrees_with_its_twin: [3];
    leaky_bucket_agrees_with_its_twin: [4];
    spacing_agrees_with_its_twin: [5];
    quota_agrees_with_its_twin: [6];
    all_algorithms_together_agree_with_their_twins: [0, 1, 2, 3, 4, 5, 6];
}
