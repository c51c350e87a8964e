//! Twins: the script and `weir_domain::decide` give the same answers over random histories.

use std::collections::BTreeMap;

use tokio::task::{JoinSet, LocalSet};
use weir_domain::algorithm::LeaseId;
use weir_domain::algorithm::{Algorithm, Input, Kind, Parameter};
use weir_domain::charge::RuleCharge;
use weir_domain::charged::Charged;
use weir_domain::decide::{Decision, name_charge};
use weir_domain::draft::{LimitDraft, Mode, Over, RuleDraft};
use weir_domain::lease::Lease;
use weir_domain::limit::COST_MAX;
use weir_domain::request::Operation;
use weir_domain::reservation::{
    Commit, Exhaust, RESERVED_MAX_MS, ReservationId, Reserve, Settlement,
};
use weir_domain::rule::{Rule, Slots};
use weir_domain::time::Micros;
use weir_local::Engine;

use super::fixture::{Fixture, START_US, charge, draft};
use crate::limiter::{Answer, ScriptCheck};

/// `SplitMix64`: small, seeded, the same on every machine.
pub(super) struct Random(pub(super) u64);

/// A rule at some point of a history.
struct Edited {
    id: u128,
    namespace: &'static str,
    /// Whether the rule counts other subjects than the other rules.
    apart: bool,
    limits: Vec<DrawnLimit>,
    rule: Rule,
    slots: Slots,
}

/// The namespaces of a history. A check meets the rules of one.
const NAMESPACES: [&str; 3] = ["one", "two", "three"];

/// Steps of a history.
const STEPS: u32 = 1_000;

/// A limit as the numbers of its parameters.
struct DrawnLimit {
    kind: Kind,
    numbers: BTreeMap<&'static str, u64>,
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

impl DrawnLimit {
    /// A valid limit of this kind.
    fn new(random: &mut Random, kind: Kind) -> Self {
        loop {
            let draw = |parameter: &Parameter| (parameter.name, number(random, parameter.input));
            let drawn = Self { kind, numbers: kind.parameters().iter().map(draw).collect() };
            if Algorithm::parse(drawn.draft()).is_ok() {
                return drawn;
            }
        }
    }

    fn draft(&self) -> LimitDraft {
        LimitDraft::from_numbers(self.kind, |parameter| self.numbers[parameter.name])
    }

    /// Changes the units, and lowers the rate; of a limit without units, changes the interval.
    fn edit(&mut self, more: u64) {
        let parameters = self.kind.parameters();
        let has_units = parameters.iter().any(|parameter| parameter.input == Input::Units);
        for parameter in parameters {
            let number = self.numbers.get_mut(parameter.name).expect("it was drawn");
            match parameter.input {
                Input::Units => *number = more,
                Input::Rate => *number = more.min(*number),
                Input::Window if !has_units => *number = more,
                // Of windows that are counted. Their units count where they were taken.
                Input::Window if more.is_multiple_of(3) => *number = more * 37,
                Input::Period | Input::TimeZone if more.is_multiple_of(2) => *number = more,
                _ => {}
            }
        }
    }
}

fn number(random: &mut Random, input: Input) -> u64 {
    match input {
        Input::Units => units(random),
        Input::Rate => units(random).min(5_000),
        Input::Window | Input::Every => span_ms(random),
        Input::CountDenied => random.below(2),
        Input::Period | Input::TimeZone => random.below(5),
        Input::AnchorDay | Input::EndsAt => 1,
    }
}

fn random_limits(random: &mut Random, kinds: &[Kind]) -> Vec<DrawnLimit> {
    let count = random.between(1, 3);
    let limit = |_| {
        let kind = kinds[usize::try_from(random.below(kinds.len() as u64)).expect("small")];
        DrawnLimit::new(random, kind)
    };
    (0..count).map(limit).collect()
}

fn random_rule(random: &mut Random, limits: &[DrawnLimit]) -> RuleDraft {
    let mut rule = draft(limits.iter().map(DrawnLimit::draft).collect());
    if random.one_in(4) {
        rule.mode = Mode::Shadow;
    }
    match random.below(8) {
        0 | 1 => rule.block_ms = vec![span_ms(random)],
        2 => {
            rule.block_ms = (0..random.between(2, 4)).map(|_| span_ms(random)).collect();
            rule.block_memory_ms = Some(span_ms(random));
        }
        _ => {}
    }
    if random.one_in(4) {
        rule.over = Over::Debt;
    }
    rule
}

/// Changes the numbers of a rule's limits, or the limits themselves.
fn edit(random: &mut Random, edited: &mut Edited, kinds: &[Kind]) {
    let draft = if random.one_in(3) {
        edited.limits = random_limits(random, kinds);
        random_rule(random, &edited.limits)
    } else {
        edited.limits.iter_mut().for_each(|limit| limit.edit(random.between(1, 15)));
        let limits = edited.limits.iter().map(DrawnLimit::draft).collect();
        RuleDraft { limits, ..edited.rule.draft() }
    };
    let rule = Rule::parse(draft).expect("edits keep to the bounds");
    edited.slots = rule.slots_after(&edited.rule, &edited.slots).expect("slots are left");
    edited.rule = rule.with_slots(&edited.slots.taken);
}

/// The charges of a request in a namespace: mostly of all its rules in their order, for one of two subjects.
fn some(random: &mut Random, rules: &[Edited], namespace: &str) -> Vec<RuleCharge> {
    let subject = u128::from(random.below(2));
    let (all, turned) = (random.one_in(2), random.one_in(4));
    let own = rules.iter().filter(|rule| rule.namespace == namespace);
    let met = own.filter(|_| all || !random.one_in(4));
    let mut charges: Vec<_> = met
        .map(|edited| {
            charge(edited.id, edited.rule.clone(), if edited.apart { subject + 2 } else { subject })
        })
        .collect();
    if random.one_in(4) {
        for charge in &mut charges {
            charge.own_cost = random.one_in(2).then(|| random.below(5));
        }
    }
    if random.one_in(4) {
        for charge in &mut charges {
            charge.keep_share = u16::try_from(random.below(1_000)).expect("small");
        }
    }
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
        // Step back a little, as a slewing clock does, or a lot, as a clock that is set does.
        10 => return Micros(now.0 - random.below(1_000_000)),
        _ if random.one_in(10) => return Micros(now.0 - random.below(4_000_000)),
        _ => random.below(60_000),
    };
    Micros(now.0 + forward)
}

/// The rules of a history, in turn of each of `count` namespaces.
fn random_rules(random: &mut Random, kinds: &[Kind], count: u64) -> Vec<Edited> {
    let rule_count = random.between(1, 6);
    let rule = |id: u64| {
        let limits = random_limits(random, kinds);
        let rule = Rule::parse(random_rule(random, &limits)).expect("valid");
        let apart = random.one_in(4);
        let namespace = NAMESPACES[usize::try_from(id % count).expect("small")];
        let (id, slots) = (u128::from(id), rule.first_slots());
        Edited { id, namespace, apart, limits, rule, slots }
    };
    (1..=rule_count).map(rule).collect()
}

/// A reservation of a history that was made and not committed yet. It has possibly ended.
struct Reserved {
    commit: Commit,
    namespace: &'static str,
    /// The rules and subjects.
    charged: Vec<(u128, u128)>,
}

/// A lease that a check of a history possibly took.
struct Leased {
    lease: Lease,
    namespace: &'static str,
}

/// The reservations and leases that callers of a history hold.
#[derive(Default)]
struct Held {
    reserved: Vec<Reserved>,
    leased: Vec<Leased>,
}

/// The charges of a commit, of the rules as they are now.
fn still(reserved: &Reserved, rules: &[Edited]) -> Vec<RuleCharge> {
    let charge_of = |&(id, subject): &(u128, u128)| {
        let edited = rules.iter().find(|edited| edited.id == id)?;
        Some(charge(id, edited.rule.clone(), subject))
    };
    reserved.charged.iter().filter_map(charge_of).collect()
}

fn random_id(random: &mut Random) -> [u8; 16] {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&random.next().to_be_bytes());
    id[8..].copy_from_slice(&random.next().to_be_bytes());
    id
}

/// A reserve for a time that mostly ends within the history.
fn random_reserve(random: &mut Random) -> Operation {
    let id = random_id(random);
    let ttl_ms =
        if random.one_in(5) { random.between(1, RESERVED_MAX_MS) } else { span_ms(random) };
    let at_most = random.one_in(3);
    Operation::Reserve(Reserve { id: ReservationId(id), ttl_ms, at_most })
}

fn random_exhaust(random: &mut Random) -> Operation {
    let Operation::Reserve(Reserve { id, ttl_ms, .. }) = random_reserve(random) else {
        unreachable!("it is a reserve")
    };
    Operation::Exhaust(Exhaust { id, for_ms: ttl_ms.min(5_000) })
}

/// Charges of a history that a refund can name.
#[derive(Default)]
struct PastCharges {
    charged: Vec<(&'static str, Charged)>,
}

impl PastCharges {
    /// Notes the charge of a check that passed or of a record.
    fn note(&mut self, check: &Drawn, settled: &Settled, now: Micros) {
        let (decisions, _) = settled;
        let passed = decisions.iter().all(|decision| decision.allowed);
        if (check.operation == Operation::Consume && passed) || check.operation == Operation::Record
        {
            let charged = name_charge(now, check.cost.max(1), &check.charges, Some(decisions));
            self.charged.extend(charged.map(|charged| (check.namespace, charged)));
            if self.charged.len() > 20 {
                self.charged.remove(0);
            }
        }
    }

    /// Mostly the charge that the refund names, of the same namespace.
    fn random(&self, random: &mut Random, check: &Drawn) -> Option<Charged> {
        if check.operation != Operation::Refund || random.one_in(3) {
            return None;
        }
        let own = self.charged.iter().filter(|(namespace, _)| *namespace == check.namespace);
        let own: Vec<_> = own.rev().take(4).collect();
        let at = usize::try_from(random.below(own.len().max(1) as u64)).expect("small");
        own.get(at).map(|(_, charged)| charged.clone())
    }
}

/// An operation and a cost.
fn random_charge(random: &mut Random) -> (Operation, u64) {
    let operation = match random.below(98) / 4 {
        24 => random_exhaust(random),
        20..=23 => random_reserve(random),
        0 => Operation::Peek,
        1 => Operation::Inspect,
        2..=3 => Operation::Refund,
        4..=5 => Operation::Record,
        _ => Operation::Consume,
    };
    let cost = match random.below(12) {
        0 if operation == Operation::Record => random.below(20),
        0 if random.one_in(10) => COST_MAX,
        0 => units(random),
        1..=3 => random.between(1, 6),
        _ => 1,
    };
    (operation, cost)
}

/// Compares Redis and its twin over a random history. Returns the numbers of checks that passed and that were denied.
async fn history(seed: u64, kinds: &'static [Kind]) -> (u32, u32) {
    let mut fixture = Fixture::new().await;
    let counts = history_on(&mut fixture, seed, kinds).await;
    for (key, (_, ttl_ms)) in fixture.dump().await {
        assert!(ttl_ms > 0, "seed {seed}: {key} stays for ever");
    }
    counts
}

/// One check of a history.
struct Drawn {
    operation: Operation,
    cost: u64,
    namespace: &'static str,
    charges: Vec<RuleCharge>,
    lease_id: LeaseId,
    charged: Option<Charged>,
}

/// A check of the rules of one of `count` namespaces, a commit of one of the open reservations, or a renewal or release of
/// one of the leases.
fn random_check(random: &mut Random, rules: &[Edited], held: &mut Held, count: u64) -> Drawn {
    let lease_id = LeaseId(random_id(random));
    let open = &mut held.reserved;
    if !held.leased.is_empty() && random.one_in(4) {
        let at = usize::try_from(random.below(held.leased.len() as u64)).expect("small");
        let renews = random.one_in(2);
        // Mostly released once; a further release finds nothing.
        let removed = (!renews && !random.one_in(8)).then(|| held.leased.swap_remove(at));
        let Leased { lease, namespace } = *removed.as_ref().unwrap_or_else(|| &held.leased[at]);
        let operation = if renews { Operation::Renew(lease) } else { Operation::Release(lease) };
        return Drawn {
            operation,
            cost: 1,
            namespace,
            charges: Vec::new(),
            lease_id,
            charged: None,
        };
    }
    if !open.is_empty() && random.one_in(10) {
        let at = usize::try_from(random.below(open.len() as u64)).expect("small");
        // Mostly once; a further commit finds nothing.
        let reserved = if random.one_in(8) { &open[at] } else { &open.swap_remove(at) };
        let (operation, cost) = (Operation::Commit(reserved.commit), random.below(12));
        let charges = still(reserved, rules);
        return Drawn {
            operation,
            cost,
            namespace: reserved.namespace,
            charges,
            lease_id,
            charged: None,
        };
    }
    let (operation, cost) = random_charge(random);
    let namespace = NAMESPACES[usize::try_from(random.below(count)).expect("small")];
    let mut charges = some(random, rules, namespace);
    if operation.reserves() {
        for charge in &mut charges {
            charge.own_cost = None;
        }
    }
    Drawn { operation, cost, namespace, charges, lease_id, charged: None }
}

impl Drawn {
    /// The reservation that the twin made.
    fn reserved(&self, settled: Option<&Settled>) -> Option<Reserved> {
        let (Operation::Reserve(reserve), Some((_, Some(Settlement::Held { units, ends })))) =
            (self.operation, settled)
        else {
            return None;
        };
        let commit = Commit { id: reserve.id, ends: *ends };
        let charged = |charge: &RuleCharge| (charge.active.id.to_u128(), charge.subject.0);
        let charged = self.charges.iter().map(charged).collect();
        (*units > 0).then_some(Reserved { commit, namespace: self.namespace, charged })
    }

    /// The leases that the check possibly took.
    fn leased(&self, settled: Option<&Settled>) -> Vec<Leased> {
        let id = match (self.operation, settled) {
            (Operation::Consume, Some((_, Some(Settlement::Leased { .. })))) => self.lease_id,
            (Operation::Reserve(reserve), Some(_)) => LeaseId(reserve.id.0),
            _ => return Vec::new(),
        };
        let limits = self.charges.iter().flat_map(|charge| {
            charge.limits().iter().filter_map(move |limit| {
                let (rule, slot) = (charge.active.id, limit.slot);
                let (subject, spread) = (charge.subject, charge.spread);
                let lease_ms = limit.algorithm.lease_ms()?;
                Some(Lease { id, lease_ms, rule, slot, subject, spread })
            })
        });
        limits.map(|lease| Leased { lease, namespace: self.namespace }).collect()
    }
}

/// Decisions and the effect of a reserve or commit.
type Settled = (Vec<Decision>, Option<Settlement>);

/// The answer of Redis as the twin gives it.
fn settled(answer: Answer, now: Micros) -> Option<Settled> {
    match answer {
        Answer::Decided(at, decisions) if at == now => Some((decisions, None)),
        Answer::Settled(at, None, decisions, settlement) if at == now => {
            Some((decisions, Some(settlement)))
        }
        Answer::NotOpen => None,
        other => panic!("not decided: {other:?}"),
    }
}

/// The same on the Redis of this fixture.
pub(super) async fn history_on(
    fixture: &mut Fixture,
    seed: u64,
    kinds: &'static [Kind],
) -> (u32, u32) {
    let mut random = Random(seed);
    fixture.set_now(Micros(START_US + random.below(100_000_000_000)));
    // Half of the histories have one namespace.
    let count = if random.one_in(2) { 1 } else { 3 };
    let mut rules = random_rules(&mut random, kinds, count);
    let (mut held, mut past) = (Held::default(), PastCharges::default());
    let (mut passed, mut denied) = (0, 0);
    for at in 0..STEPS {
        fixture.set_now(step(&mut random, fixture.now()));
        if random.one_in(40) {
            let which = usize::try_from(random.below(rules.len() as u64)).expect("small");
            edit(&mut random, &mut rules[which], kinds);
        }
        let checks = if random.one_in(10) { random.between(2, 5) } else { 1 };
        if checks > 1 {
            // A part of a batch with periods of another time is sent again, after the other parts. The limiter learns the
            // time beforehand, so that the order is that of the twin.
            let all: Vec<_> =
                rules.iter().map(|edited| charge(edited.id, edited.rule.clone(), 0)).collect();
            fixture.check(Operation::Inspect, 1, &all).await;
        }
        let (mut drawn, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..checks {
            let mut check = random_check(&mut random, &rules, &mut held, count);
            check.charged = past.random(&mut random, &check);
            let settled = fixture.settle_twin_of(
                check.charged.clone(),
                check.lease_id,
                (check.operation, check.cost),
                &check.charges,
            );
            if let Some(settled) = &settled {
                past.note(&check, settled, fixture.now());
            }
            held.reserved.extend(check.reserved(settled.as_ref()));
            held.leased.extend(check.leased(settled.as_ref()));
            expected.push(settled);
            drawn.push(check);
        }
        let asked = drawn.iter().map(|check| ScriptCheck {
            namespace: check.namespace,
            lease_id: check.lease_id,
            charged: check.charged.as_ref(),
            ..fixture.asked(check.operation, check.cost, &check.charges)
        });
        let answers = fixture.check_all(asked.collect()).await;
        for ((answer, expected), check) in answers.into_iter().zip(expected).zip(&drawn) {
            let settled = settled(answer, fixture.now());
            assert_eq!(
                settled,
                expected,
                "seed {seed}, step {at}, {:?} of {} at {:?}: Redis (left) and its twin differ; rules: {:#?}",
                check.operation,
                check.cost,
                fixture.now(),
                rules.iter().map(|edited| edited.rule.draft()).collect::<Vec<_>>()
            );
            let Some((decisions, _)) = settled else { continue };
            if decisions.iter().all(|decision| decision.allowed) {
                passed += 1;
            } else {
                denied += 1;
            }
        }
    }
    (passed, denied)
}

/// Histories of these kinds with four seeds, on other engines one, side by side, which neither all pass nor are all denied.
async fn histories(kinds: &'static [Kind]) {
    let mut histories = JoinSet::new();
    let seeds = if Engine::of_environment().is_ok_and(|engine| engine == Engine::Installed) {
        4
    } else {
        1
    };
    for seed in 0..seeds {
        histories.spawn_local(history(seed * 7919 + 1, kinds));
    }
    let least = u32::try_from(histories.len()).expect("few") * STEPS / 50;
    let (mut passed, mut denied) = (0, 0);
    for (some_passed, some_denied) in histories.join_all().await {
        (passed, denied) = (passed + some_passed, denied + some_denied);
    }
    assert!(passed > least && denied > least, "{kinds:?}: {passed} passed, {denied} denied");
}

/// From the list of all kinds, so that no algorithm is forgotten.
#[tokio::test]
async fn each_algorithm_agrees_with_its_twin() {
    let each = async {
        let mut algorithms = JoinSet::new();
        for kind in Kind::ALL {
            algorithms.spawn_local(histories(std::slice::from_ref(kind)));
        }
        algorithms.join_all().await;
    };
    LocalSet::new().run_until(each).await;
}

#[tokio::test]
async fn all_algorithms_together_agree_with_their_twins() {
    LocalSet::new().run_until(histories(Kind::ALL)).await;
}
