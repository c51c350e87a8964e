//! Admissions in both regions, counted from outside.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::fixture::{Regions, Tenant};
use crate::numbers::{Spread, Thousands, float};
use crate::service::POLL;

/// The rules whose windows are counted, by namespace and consistency.
const RULES: [&str; 2] = ["exact", "leased"];
const WINDOW_MS: u64 = 4_000;
/// The most that a window admits.
const LIMIT: u64 = 500;
/// The namespace of a limit that is used up once.
pub(super) const ONCE: &str = "once";
const ONCE_LIMIT: u64 = 1_000;
/// The checks of each caller to use up that limit.
const ONCE_CHECKS: u32 = 60;
/// Callers of each rule in each region.
const CALLERS: u32 = 16;
/// The pause of a caller between two checks.
const PAUSE: Duration = Duration::from_millis(40);
/// The end of a window, in which no check is sent: those that were sent get their answers.
const QUIET: Duration = Duration::from_millis(600);
/// How long the way is cut, and then open: three quarters of a window, so that the cuts begin at other times in each window.
const CUT: Duration = Duration::from_millis(WINDOW_MS / 4 * 3);

/// The limits that are counted, with their namespaces and their consistency.
pub(super) fn limits() -> [(&'static str, &'static str, Value); 3] {
    let window = |limit: u64, window_ms: u64| json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": window_ms });
    let [exact, leased] = RULES.map(|rule| (rule, rule, window(LIMIT, WINDOW_MS)));
    [exact, leased, (ONCE, "exact", window(ONCE_LIMIT, 366 * 24 * 60 * 60 * 1_000))]
}

/// The windows of one rule while the way between the regions was cut half of the time.
#[derive(Debug)]
pub(super) struct Windows {
    rule: &'static str,
    /// The answers at home and outside it.
    windows: Vec<[Answers; 2]>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Answers {
    admitted: u64,
    /// The number of checks that the home did not decide.
    degraded: u64,
}

/// A limit that both regions used up at once.
#[derive(Debug)]
pub(super) struct Once {
    pub(super) limit: u64,
    pub(super) checks: u32,
    /// The admissions at home and outside it.
    pub(super) admitted: [u64; 2],
}

/// A check to send to one gate.
#[derive(Debug, Clone)]
struct Sender {
    client: Client,
    url: String,
    key: String,
    check: Value,
}

impl Windows {
    /// Sends more checks than the limit in each window. A window in which an answer came too late is repeated.
    pub(super) async fn count(regions: &Regions, tenant: &Tenant, count: u32) -> Result<[Self; 2]> {
        let senders = RULES.map(|rule| senders(regions, tenant, rule));
        let mut counted = RULES.map(|rule| Self { rule, windows: Vec::new() });
        let counting = async {
            while counted[0].windows.len() < count as usize {
                let end = next_window().await?;
                let more = move |_| Instant::now() + QUIET < end;
                let [exact, leased] = &senders;
                let answers = tokio::try_join!(send_both(exact, more), send_both(leased, more))?;
                if Instant::now() >= end {
                    println!("   a window is repeated, because an answer came too late");
                    continue;
                }
                for (rule, answers) in counted.iter_mut().zip(<[_; 2]>::from(answers)) {
                    rule.windows.push(answers);
                    println!("   window {}: {}: {answers:?}", rule.windows.len(), rule.rule);
                }
            }
            anyhow::Ok(())
        };
        tokio::select! {
            done = counting => done?,
            () = cut_half_of_the_time(regions) => {}
        }
        regions.way.rejoin();
        Ok(counted)
    }

    /// The row of the table.
    pub(super) fn row(&self) -> String {
        let admitted: Vec<f64> =
            self.windows.iter().map(|[eu, us]| float(eu.admitted + us.admitted)).collect();
        let Some(Spread { median, least, most }) = Spread::of(admitted.iter().copied()) else {
            return format!("| {} | 0 | {LIMIT} | – | – | – | – |", self.rule);
        };
        let outside: u64 = self.windows.iter().map(|[_, us]| us.admitted).sum();
        let degraded: u64 = self.windows.iter().map(|[_, us]| us.degraded).sum();
        format!(
            "| {} | {} | {LIMIT} | {median} ({least}–{most}) | {:.0} % | {} | {} |",
            self.rule,
            admitted.len(),
            100.0 * float(outside) / admitted.iter().sum::<f64>().max(1.0),
            Thousands(float(degraded)),
            admitted.iter().filter(|admitted| **admitted > float(LIMIT)).count(),
        )
    }
}

impl Once {
    pub(super) async fn count(regions: &Regions, tenant: &Tenant) -> Result<Self> {
        let senders = senders(regions, tenant, ONCE);
        settled(regions, tenant).await?;
        let answers = send_both(&senders, |sent| sent < ONCE_CHECKS).await?;
        let [eu, us] = answers;
        ensure!(eu.degraded + us.degraded == 0, "the home did not decide all: {answers:?}");
        let checks = 2 * CALLERS * ONCE_CHECKS;
        Ok(Self { limit: ONCE_LIMIT, checks, admitted: [eu.admitted, us.admitted] })
    }
}

/// Waits until both gates have all rules, and the home decides for both.
pub(super) async fn settled(regions: &Regions, tenant: &Tenant) -> Result<()> {
    for mut sender in senders(regions, tenant, ONCE) {
        sender.check["mode"] = json!("peek");
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let answer = sender.send().await?;
            let limits = answer["limits"].as_array().map_or(0, Vec::len);
            if limits > 0 && answer["degraded"].is_null() {
                break;
            }
            ensure!(Instant::now() < until, "the home does not decide: {answer}");
            sleep(POLL).await;
        }
    }
    Ok(())
}

/// Waits until a window begins, by the clock of this machine and its Redis. Returns its end.
#[expect(clippy::disallowed_methods, reason = "windows are aligned to the epoch")]
async fn next_window() -> Result<Instant> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).context("the time")?;
    let passed_ms = u64::try_from(since.as_millis())? % WINDOW_MS;
    let begin = Instant::now() + Duration::from_millis(WINDOW_MS - passed_ms);
    sleep_until(begin).await;
    Ok(begin + Duration::from_millis(WINDOW_MS))
}

async fn cut_half_of_the_time(regions: &Regions) {
    loop {
        regions.way.isolate(IpAddr::V4(Ipv4Addr::LOCALHOST));
        sleep(CUT).await;
        regions.way.rejoin();
        sleep(CUT).await;
    }
}

/// The check of a namespace, at home and outside it.
fn senders(regions: &Regions, tenant: &Tenant, namespace: &str) -> [Sender; 2] {
    [regions.home.gate(), regions.us.address.clone()].map(|gate| Sender {
        client: Client::new(),
        url: format!("http://{gate}/check?deny_status=200"),
        key: tenant.secret.clone(),
        check: json!({ "namespace": namespace, "attributes": { "user": "u-1" } }),
    })
}

/// Sends checks to both gates at once.
async fn send_both(
    [eu, us]: &[Sender; 2],
    more: impl Fn(u32) -> bool + Copy + Send + 'static,
) -> Result<[Answers; 2]> {
    Ok(tokio::try_join!(eu.send_while(more), us.send_while(more))?.into())
}

impl Sender {
    /// Sends checks by several callers. `more` returns whether a caller sends another one after this number of checks.
    async fn send_while(
        &self,
        more: impl Fn(u32) -> bool + Copy + Send + 'static,
    ) -> Result<Answers> {
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            let sender = self.clone();
            callers.spawn(async move {
                let (mut sent, mut answers) = (0, Answers::default());
                while more(sent) {
                    let answer = sender.send().await?;
                    sent += 1;
                    if answer["degraded"].is_null() {
                        answers.admitted += u64::from(answer["allowed"] == true);
                    } else {
                        answers.degraded += 1;
                    }
                    sleep(PAUSE).await;
                }
                anyhow::Ok(answers)
            });
        }
        let mut sum = Answers::default();
        while let Some(answers) = callers.join_next().await {
            let Answers { admitted, degraded } = answers??;
            sum.admitted += admitted;
            sum.degraded += degraded;
        }
        Ok(sum)
    }

    async fn send(&self) -> Result<Value> {
        let request = self.client.post(&self.url).bearer_auth(&self.key).json(&self.check);
        Ok(request.send().await?.json().await?)
    }
}
