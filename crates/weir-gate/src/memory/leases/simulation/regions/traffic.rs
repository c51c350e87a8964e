//! Much traffic over ways that take 75 ms in each direction: how much of the possible is admitted, and how many leased checks
//! outside the home wait for it.

use std::task::Poll;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use weir_domain::id::TenantId;
use weir_domain::request::Operation;

use super::super::fixture::{Random, answer};
use super::installation::{Installation, world_book};
use super::ways::REGIONS;
use super::{KEEP_EVERY_US, WINDOW_MS, send_early};
use crate::memory::lease_keeper::settle_idle;
use crate::state::GateState;

const DELAY_US: u64 = 75_000;
/// The most calls of a link that are on their way.
const CALLS_MAX: usize = 16;

/// The real time between two looks at the ways.
const LOOK_EVERY: Duration = Duration::from_micros(100);

/// The traffic of one window.
struct Traffic<'a> {
    on: &'a Installation,
    tenant: TenantId,
    gates: Vec<GateState>,
    random: Random,
    /// Checks and returns that wait for the home, by region. A check returns whether it was admitted, if the home answered.
    waiting: [FuturesUnordered<BoxFuture<'static, Option<bool>>>; REGIONS],
    since_settled_us: u64,
    counts: Counts,
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    checks: u64,
    admitted: u64,
    denied: u64,
    /// Checks outside the home, and those of them that waited for it while units were left.
    far: u64,
    waited: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_from_home_admit_nearly_all_that_is_possible_wherever_the_traffic_is() {
    let on = Installation::start().await;
    let (limit, rate) = (6_000, 150);
    // Half as much traffic again as the limit permits.
    let split = Traffic::new(&on, 1, limit).run(&[(54, rate, [90, 5, 5])]).await;
    let moving = [(18, rate, [90, 5, 5]), (18, rate, [5, 90, 5]), (18, rate, [5, 5, 90])];
    let moved = Traffic::new(&on, 2, limit).run(&moving).await;
    // Traffic that uses half of the limit, and for two seconds ten times as much.
    let calm = Traffic::new(&on, 3, 12_000).run(&[(50, 100, [5, 90, 5])]).await;
    let burst = [(10, 50, [5, 90, 5]), (2, 500, [5, 90, 5]), (10, 50, [5, 90, 5])];
    // A gate holds at most 1 % of the limit, which here lasts for two round trips of the burst.
    let burst = Traffic::new(&on, 4, 24_000).run(&burst).await;
    on.stop.cancel();
    for (name, counts) in [("split", split), ("moved", moved), ("calm", calm), ("burst", burst)] {
        let waited = 100.0 * precise(counts.waited) / precise(counts.far);
        println!("{name}: {waited:.1} % of the checks outside the home waited; {counts:?}");
    }
    for (counts, percent_max) in [(split, 4), (moved, 4), (calm, 4), (burst, 10)] {
        assert!(counts.waited * 100 <= counts.far * percent_max, "{percent_max} %: {counts:?}");
    }
    for counts in [split, moved] {
        assert!((limit * 95 / 100..=limit).contains(&counts.admitted), "{counts:?}");
    }
    for counts in [calm, burst] {
        // On a machine that stands still, a link waits for a moment, and a few checks are not decided.
        let nearly_all = counts.admitted >= counts.checks * 98 / 100;
        assert!(nearly_all && counts.denied == 0, "the limit is larger: {counts:?}");
    }
}

impl Counts {
    fn note(&mut self, decided: Option<bool>) {
        self.admitted += u64::from(decided == Some(true));
        self.denied += u64::from(decided == Some(false));
    }
}

fn precise(count: u64) -> f64 {
    f64::from(u32::try_from(count).expect("a small count"))
}

impl<'a> Traffic<'a> {
    /// Three gates, at the beginning of a window.
    fn new(on: &'a Installation, seed: u64, limit: u64) -> Self {
        let window_us = WINDOW_MS * 1_000;
        on.time.pass(window_us - on.time.micros().0 % window_us + 1_000);
        on.ways.parts().delay_us = DELAY_US;
        let tenant = TenantId::from_u128(u128::from(seed) | (0x53u128 << 100));
        let book = world_book(tenant, (seed, 1), "leased", limit);
        let gates = (0..REGIONS).map(|region| on.gate(&book, region, 0)).collect();
        let waiting = [(); REGIONS].map(|()| FuturesUnordered::new());
        let (random, counts) = (Random(seed), Counts::default());
        Self { on, tenant, gates, random, waiting, since_settled_us: 0, counts }
    }

    /// Sends checks: for each phase its seconds, the number in a second, and the percentages in the regions.
    async fn run(mut self, phases: &[(u64, u64, [u64; REGIONS])]) -> Counts {
        // Each link learns the runs of the new gates before.
        self.on.linked().await;
        for region in 1..REGIONS {
            self.ask(region, Operation::Peek).await;
        }
        self.pass(1_000_000).await;
        self.counts = Counts::default();
        for &(seconds, rate, [first, second, _]) in phases {
            for _ in 0..seconds * rate {
                self.pass(1_000_000 / rate).await;
                let drawn = self.random.between(1, 100);
                let region = usize::from(drawn > first) + usize::from(drawn > first + second);
                self.ask(region, Operation::Consume).await;
            }
        }
        while self.waiting.iter().any(|waiting| !waiting.is_empty()) {
            self.pass(DELAY_US).await;
        }
        self.counts
    }

    /// Sends a check. One that waits for the home ends later.
    async fn ask(&mut self, region: usize, operation: Operation) {
        let state = self.gates[region].clone();
        let (tenant, time) = (self.tenant, self.on.times[region].clone());
        let mut check: BoxFuture<'static, _> = Box::pin(async move {
            let book = state.held.current().expect("a rulebook");
            let (answer, _) = answer((&state, &book), (tenant, &time), operation, 1).await;
            let counts = operation == Operation::Consume && answer.degraded.is_none();
            counts.then_some(answer.allowed)
        });
        self.counts.checks += 1;
        if region == 0 {
            let decided = check.await;
            self.counts.note(decided);
            return;
        }
        self.counts.far += 1;
        match futures_util::poll!(&mut check) {
            Poll::Ready(decided) => {
                self.counts.note(decided);
                self.send_early(region).await;
            }
            Poll::Pending => {
                self.waiting[region].push(check);
                self.settled().await;
            }
        }
    }

    /// Sends the requests for units that the gate of a region made early.
    async fn send_early(&mut self, region: usize) {
        if let Some(sent) = send_early(&self.gates[region]) {
            self.waiting[region].push(Box::pin(sent.map(|()| None)));
            self.settled().await;
        }
    }

    /// Lets time pass, in which calls arrive and gates return what they do not use.
    async fn pass(&mut self, us: u64) {
        self.on.time.pass(us);
        self.since_settled_us += us;
        self.on.ways.arrive(self.on.time.micros());
        self.settled().await;
        if self.since_settled_us >= KEEP_EVERY_US {
            self.since_settled_us = 0;
            for region in 0..REGIONS {
                let (state, now) = (self.gates[region].clone(), self.on.time.instant());
                self.waiting[region].push(Box::pin(async move {
                    settle_idle(&state, now).await;
                    None
                }));
            }
            self.settled().await;
        }
    }

    /// Waits until everything that is not on its way has ended.
    async fn settled(&mut self) {
        for region in 0..REGIONS {
            loop {
                let (calls, works) = self.on.ways.travelling(region);
                let waiting = &mut self.waiting[region];
                if waiting.len() <= works || calls >= CALLS_MAX {
                    break;
                }
                // Another look at the ways soon, because a call that leaves wakes nobody here.
                let ended = tokio::time::timeout(LOOK_EVERY, waiting.next()).await;
                if let Ok(Some(decided)) = ended {
                    self.counts.note(decided);
                    // A denied check waits because nothing is left.
                    self.counts.waited += u64::from(decided == Some(true));
                }
            }
        }
    }
}
