//! `writes`: the effect on one tenant of another tenant that writes overrides in bulk without pause.
//!
//! The victim revokes keys and signs in, alone and beside the bulk writes. Each bulk write replaces the same 5,000 overrides.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Args;
use hdrhistogram::Histogram;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::fixture::{Fixture, Tenant};
use crate::numbers::float;
use crate::variants;

#[derive(Debug, Args)]
pub struct WritesArgs {
    /// The server
    #[arg(long, env = "BENCH_WEIR")]
    weir: PathBuf,
    /// Concurrent bulk writes
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100))]
    writers: u32,
    /// Revocations and sign-ins of each measurement
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    requests: u32,
    /// Number of repetitions
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
}

/// The number of overrides of a bulk write: the most that the API admits.
const OVERRIDES: u32 = 5_000;
/// The pause between two requests of the victim.
const PAUSE: Duration = Duration::from_millis(100);

/// Longer latencies count as this one.
const LATENCY_MAX_US: u64 = 60_000_000;

/// A measurement of the victim's requests.
#[derive(Debug)]
struct Measurement<'m> {
    /// The first cells of its rows.
    row: &'m str,
    /// The number of its first key. The names of keys differ in all measurements.
    first: u32,
    /// The body of a sign-in. The account is not the fixture's, whose session too many sign-ins would end.
    login: &'m Value,
}

/// The answers to one kind of request. Times are in microseconds.
#[derive(Debug)]
struct Answers {
    latencies: Histogram<u64>,
    /// The number of answers with a status of 500 or more.
    failed: u64,
    /// The number of other unexpected answers.
    unexpected: u64,
}

pub async fn run(args: WritesArgs) -> Result<()> {
    let fixture = Arc::new(Fixture::start(&args.weir).await.context("start Weir")?);
    let victim = fixture.tenant("victim").await.context("make the victim")?;
    let login = json!({ "email": "visitor@example.com", "password": fixture.login()["password"] });
    let mut signup = login.clone();
    signup["tenant_name"] = json!("Visitor");
    fixture.post("/auth/signup", &signup).await?;
    let importer = fixture.tenant("importer").await.context("make the importer")?;
    let rule = variants::rule("bulk", &[variants::bucket(1_000)]);
    let rule = fixture.post(&format!("/tenants/{}/rules", importer.id), &rule).await?;
    let id = rule["id"].as_str().context("the id of the rule")?;
    let body = Arc::new(bulk(id));
    println!(
        "| round | beside | request | p50 ms | p99 ms | max ms | 5xx | unexpected | bulk writes |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for round in 1..=args.rounds {
        let alone = format!("| {round} | nothing |");
        let measurement =
            Measurement { row: &alone, first: 2 * (round - 1) * args.requests, login: &login };
        measurement.run(&fixture, &victim, args.requests, &AtomicU64::new(0)).await?;
        let written = Arc::<AtomicU64>::default();
        let mut writers = JoinSet::new();
        for _ in 0..args.writers {
            let (fixture, importer) = (Arc::clone(&fixture), importer.id.clone());
            writers.spawn(write(fixture, importer, Arc::clone(&body), Arc::clone(&written)));
        }
        let beside = format!("| {round} | {} writers |", args.writers);
        let measurement =
            Measurement { row: &beside, first: (2 * round - 1) * args.requests, login: &login };
        measurement.run(&fixture, &victim, args.requests, &written).await?;
        writers.shutdown().await;
    }
    Ok(())
}

/// Writes in bulk without pause, and counts the writes that succeed.
async fn write(fixture: Arc<Fixture>, tenant: String, body: Arc<Value>, written: Arc<AtomicU64>) {
    let path = format!("/tenants/{tenant}/overrides/bulk");
    while let Ok((status, _)) = fixture.send(Method::POST, &path, Some(&body)).await {
        if status.is_success() {
            written.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Measurement<'_> {
    /// Measures the victim's requests, and prints a row for each kind of them.
    async fn run(
        &self,
        fixture: &Fixture,
        victim: &Tenant,
        requests: u32,
        written: &AtomicU64,
    ) -> Result<()> {
        let (mut revocations, mut sign_ins) = (Answers::new(), Answers::new());
        let keys = format!("/tenants/{}/keys", victim.id);
        for number in self.first..self.first + requests {
            let key = json!({ "name": format!("key-{number}"), "scopes": ["check"] });
            let (status, key) = fixture.send(Method::POST, &keys, Some(&key)).await?;
            if let Some(id) = key["id"].as_str() {
                let path = format!("{keys}/{id}");
                let begun = Instant::now();
                let (status, _) = fixture.send(Method::DELETE, &path, None).await?;
                revocations.note(begun.elapsed(), status, StatusCode::NO_CONTENT);
            } else {
                revocations.note(Duration::ZERO, status, StatusCode::CREATED);
            }
            let begun = Instant::now();
            let login = Some(self.login);
            let (status, _) = fixture.send(Method::POST, "/auth/login", login).await?;
            sign_ins.note(begun.elapsed(), status, StatusCode::OK);
            tokio::time::sleep(PAUSE).await;
        }
        let written = written.load(Ordering::Relaxed);
        for (title, answers) in [("revoke a key", revocations), ("sign in", sign_ins)] {
            answers.print(self.row, title, written);
        }
        Ok(())
    }
}

impl Answers {
    fn new() -> Self {
        let latencies =
            Histogram::new_with_bounds(1, LATENCY_MAX_US, 3).expect("the bounds are valid");
        Self { latencies, failed: 0, unexpected: 0 }
    }

    fn note(&mut self, took: Duration, status: StatusCode, expected: StatusCode) {
        self.latencies.saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        self.failed += u64::from(status.is_server_error());
        self.unexpected += u64::from(status != expected && !status.is_server_error());
    }

    fn print(&self, row: &str, title: &str, written: u64) {
        let Self { latencies, failed, unexpected } = self;
        let ms = |quantile| float(latencies.value_at_quantile(quantile)) / 1e3;
        let (p50, p99, max) = (ms(0.5), ms(0.99), ms(1.0));
        println!(
            "{row} {title} | {p50:.1} | {p99:.1} | {max:.1} | {failed} | {unexpected} | {written} |"
        );
    }
}

/// The body of a bulk write.
fn bulk(rule_id: &str) -> Value {
    let override_of = |number: u32| {
        json!({
            "rule_id": rule_id,
            "subject": { "user": format!("user-{number}") },
            "limits": [variants::bucket(2_000)],
        })
    };
    json!({ "overrides": (0..OVERRIDES).map(override_of).collect::<Vec<_>>() })
}
