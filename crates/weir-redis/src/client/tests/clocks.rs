//! A promoted replica with a clock that is behind that of the former primary, or ahead of it.

use weir_domain::algorithm::Kind;
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::request::Operation;
use weir_local::{Redis, SentinelOptions};

use super::{Fixture, consume};
use crate::limiter::tests::fixture::{
    charge_of, fresh_tenant, of_kind, rate_kinds, until, until_up,
};
use crate::limiter::{Answer, Limiter, ScriptCheck};

/// So long that no time that a test takes returns a unit.
const YEAR_MS: u64 = 31_536_000_000;
const UNITS: u64 = 10;

/// The decision on a check, which is repeated until Redis decides it.
pub(crate) async fn decided(limiter: &Limiter, asked: &ScriptCheck<'_>) -> Decision {
    let mut decision = None;
    until("a check is decided", async || {
        let answer = limiter.check(std::slice::from_ref(asked)).await.remove(0);
        if let Ok(Answer::Decided(_, decisions)) = answer {
            decision = Some(decisions[0]);
        }
        decision.is_some()
    })
    .await;
    decision.expect("it is decided")
}

/// Exhausts counters of all algorithms, promotes a replica with a clock that differs by this, and asserts that it admits nothing
/// and lets no subject wait for longer than the limit says.
async fn admits_nothing_more(replica_clock_s: i64) {
    let options = SentinelOptions { replica_clock_s, ..SentinelOptions::default() };
    let fixture = Fixture::start_with(&options);
    let limiter = fixture.limiter();
    until_up(&limiter).await;
    let tenant = fresh_tenant();
    let rules = of_all_kinds();
    exhaust(&limiter, &rules, |rule| consume(tenant, rule)).await;

    let before = fixture.primary().await;
    fixture.fail_over().await;
    until("the limiter has moved", async || {
        until_up(&limiter).await;
        decided(
            &limiter,
            &ScriptCheck { operation: Operation::Peek, ..consume(tenant, &rules[0]) },
        )
        .await;
        fixture.calls(1 - before) > 0
    })
    .await;
    assert_nothing_is_admitted(&limiter, &rules, |rule| consume(tenant, rule)).await;
    let [new, old] = [1 - before, before].map(|at| time_us(&fixture.group.servers()[at]));
    let offset_us = new - old;
    let expected_us = replica_clock_s * 1_000_000;
    assert!((offset_us - expected_us).abs() < 2_000_000, "the clocks differ by {offset_us} us");
}

/// A rule of each algorithm whose counters no time that a test takes changes. The day of a quota can end meanwhile.
pub(crate) fn of_all_kinds() -> Vec<Vec<RuleCharge>> {
    let kinds = rate_kinds().filter(|&kind| kind != Kind::Quota);
    let rule = |(id, kind): (u128, Kind)| vec![charge_of(id, vec![of_kind(kind, UNITS, YEAR_MS)])];
    (1..).zip(kinds).map(rule).collect()
}

/// Consumes until each rule denies.
pub(crate) async fn exhaust<'r>(
    limiter: &Limiter,
    rules: &'r [Vec<RuleCharge>],
    consume: impl Fn(&'r [RuleCharge]) -> ScriptCheck<'r>,
) {
    for rule in rules {
        let mut admitted = 0;
        while decided(limiter, &consume(rule)).await.allowed {
            admitted += 1;
            assert!(admitted <= UNITS, "{:?}", rule[0]);
        }
    }
}

/// Asserts that exhausted rules admit nothing, and that no subject waits for longer than the limit says.
pub(crate) async fn assert_nothing_is_admitted<'r>(
    limiter: &Limiter,
    rules: &'r [Vec<RuleCharge>],
    consume: impl Fn(&'r [RuleCharge]) -> ScriptCheck<'r>,
) {
    for rule in rules {
        let decision = decided(limiter, &consume(rule)).await;
        assert!(!decision.allowed, "{:?}", rule[0]);
        let wait_ms = decision.retry_after_ms.expect("not for ever");
        assert!(wait_ms <= 2 * YEAR_MS, "{wait_ms}: {:?}", rule[0]);
    }
}

/// The time of a server's clock.
pub(crate) fn time_us(server: &Redis) -> i64 {
    let reply = server.command("TIME").expect("it answers");
    let mut numbers = reply.lines().filter(|line| !line.starts_with(['*', '$']));
    let mut next = || numbers.next().and_then(|text| text.parse::<i64>().ok()).expect("a number");
    next() * 1_000_000 + next()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promoted_replica_with_a_clock_behind_admits_nothing_more() {
    admits_nothing_more(-5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promoted_replica_with_a_clock_ahead_admits_nothing_more() {
    admits_nothing_more(5).await;
}
