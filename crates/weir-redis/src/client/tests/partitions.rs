//! A gate and the primary on one side of a partition; the replica, the Sentinels and another gate on the other side.

use weir_domain::charge::RuleCharge;
use weir_domain::draft::LimitDraft;
use weir_domain::id::TenantId;
use weir_domain::time::Micros;
use weir_local::{Relay, SentinelOptions};

use super::{Caller, DEADLINE, Fixture, consume};
use crate::error::RedisError;
use crate::limiter::tests::fixture::{charge_of, fresh_tenant, until, until_up};
use crate::limiter::{Answer, ScriptCheck};

/// The two sides, not yet apart.
struct Sides {
    fixture: Fixture,
    /// The way of the minority's gate to the Sentinels.
    relays: Vec<Relay>,
    minority: Caller,
    tenant: TenantId,
    rules: Vec<RuleCharge>,
}

const LIMIT: u64 = 2_000;
/// The checks that are admitted before the partition.
const BEFORE: u32 = 100;

impl Sides {
    async fn start() -> Self {
        let options = SentinelOptions { relayed: true, ..SentinelOptions::default() };
        let fixture = Fixture::start_with(&options);
        let relay = |server: &weir_local::Redis| Relay::start(server.port()).expect("it starts");
        let relays: Vec<_> = fixture.group.sentinels().iter().map(relay).collect();
        let ports: Vec<_> = relays.iter().map(Relay::port).collect();
        let client = crate::client(&fixture.group.url_by(&ports)).expect("a valid address");
        let minority = Caller::new(fixture.limiter_by(client));
        let limits = vec![LimitDraft::FixedWindow { limit: LIMIT, window_ms: 31_622_400_000 }];
        let (tenant, rules) = (fresh_tenant(), vec![charge_of(1, limits)]);
        let sides = Self { fixture, relays, minority, tenant, rules };
        until_up(&sides.minority.limiter).await;
        sides.minority.until_decided(&sides.asked(), BEFORE).await;
        sides
    }

    fn asked(&self) -> ScriptCheck<'_> {
        consume(self.tenant, &self.rules)
    }

    fn part(&self) {
        for relay in &self.relays {
            relay.set_deaf(true);
            relay.silence();
        }
        self.fixture.group.cut_off_first().expect("there is a relay");
    }

    fn join(&self) {
        self.fixture.group.rejoin_first();
        for relay in &self.relays {
            relay.set_deaf(false);
            relay.cut();
        }
    }

    /// Waits until the Sentinels have promoted the replica.
    async fn until_promoted(&self) {
        let wait = async {
            while self.fixture.primary().await != 1 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(DEADLINE, wait).await.expect("the replica is promoted");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_side_of_a_partition_admits_the_limit_at_most_and_afterwards_one_primary_decides() {
    let sides = Sides::start().await;
    sides.part();
    let other = Caller::new(sides.fixture.limiter());
    sides.until_promoted().await;
    // More checks than the limit on each side, so each side admits as much as it can.
    let enough = u32::try_from(LIMIT).expect("small") + 10;
    until("the new primary serves", async || {
        until_up(&other.limiter).await;
        other.until_decided(&sides.asked(), 1).await;
        sides.fixture.calls(1) > 0
    })
    .await;
    other.until_decided(&sides.asked(), enough).await;
    sides.minority.until_decided(&sides.asked(), enough).await;
    // The replica had received all but what was in flight of the first checks.
    // A check whose answer was late was counted too.
    let admitted = sides.minority.admitted();
    assert!((LIMIT / 2..=LIMIT).contains(&admitted), "the old primary still counts: {admitted}");
    let replicated = LIMIT - u64::from(BEFORE);
    assert!((replicated..=LIMIT).contains(&other.admitted()), "{}", other.admitted());

    sides.join();
    until("the old primary is a replica", async || {
        let role = sides.fixture.group.servers()[0].command("ROLE");
        tokio::task::yield_now().await;
        role.is_ok_and(|role| role.contains("slave"))
    })
    .await;
    let calls = sides.fixture.calls(0);
    let admitted = sides.minority.admitted();
    sides.minority.until_decided(&sides.asked(), 200).await;
    assert_eq!(sides.minority.admitted(), admitted, "the new primary's counter is used up");
    let later = sides.fixture.calls(0);
    assert!(later <= calls + 3, "{} checks went to the old primary", later - calls);
}

/// The bound is `min-replicas-max-lag` plus the second in which Redis compares once. A busy machine adds to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_off_primary_that_requires_a_replica_soon_admits_nothing() {
    let sides = Sides::start().await;
    let first = &sides.fixture.group.servers()[0];
    for setting in ["min-replicas-max-lag 1", "min-replicas-to-write 1"] {
        assert_eq!(first.command(&format!("CONFIG SET {setting}")).expect("it runs"), "+OK\r\n");
    }
    let (mut last, mut at_cut) = (Micros(0), None);
    let deadline = tokio::time::Instant::now() + DEADLINE;
    loop {
        assert!(tokio::time::Instant::now() < deadline, "it admits without a replica");
        match sides.minority.limiter.check(&[sides.asked()]).await.remove(0) {
            Ok(Answer::Decided(now, _)) => {
                last = now;
                if at_cut.is_none() {
                    at_cut = Some(now);
                    sides.part();
                }
            }
            Err(error @ RedisError::Refused(_)) => {
                assert_eq!(error.label(), "noreplicas");
                // Before the cut, a busy machine can delay the replica.
                if at_cut.is_some() {
                    break;
                }
            }
            // A machine that stalls can end the budget of a check. The next one tells whether the primary still admits.
            Err(RedisError::Timeout | RedisError::Away) => {}
            other => panic!("{other:?}"),
        }
        tokio::task::yield_now().await;
    }
    let admitted_us = last.0 - at_cut.expect("it was cut off").0;
    assert!(admitted_us <= 6_000_000, "it admitted for {admitted_us} us");
}
