//! Measures a check by the client beside the same request by reqwest: latency ROUNDS CALLS [concurrent]. Prints the latencies in nanoseconds as
//! a JSON object for each round; with `concurrent`, those of bursts.

use std::error::Error;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use weir_ratelimit::{CheckRequest, OnError, Options, Weir};

type Outcome<T> = Result<T, Box<dyn Error>>;

#[derive(Clone)]
struct Bare {
    http: reqwest::Client,
    url: String,
    key: String,
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let (url, key) = (std::env::var("WEIR_GATE_URL")?, std::env::var("WEIR_KEY")?);
    let argument = |at| -> Outcome<usize> {
        Ok(std::env::args().nth(at).ok_or("usage: latency ROUNDS CALLS [concurrent]")?.parse()?)
    };
    let (rounds, calls) = (argument(1)?, argument(2)?);
    let options = Options::new(&url, &key, OnError::Deny).cache_size(0);
    let http = reqwest::Client::builder().no_proxy().build()?;
    let bare = Bare { http, url, key };
    if std::env::args().nth(3).as_deref() == Some("concurrent") {
        return measure_bursts(&Weir::new(options)?, &bare, rounds).await;
    }
    let weir = Weir::new(options.timeout(Duration::from_secs(20)))?;
    let request = request();
    // The first round warms up.
    for round in 0..=rounds {
        let (mut by_bare, mut by_client) = (Vec::new(), Vec::new());
        for call in 0..calls {
            // In turn, and each as often first, so that what else the machine does meets both alike.
            if call % 2 == 0 {
                by_bare.push(bare.timed().await?);
            }
            by_client.push(timed(&weir, &request).await?);
            if call % 2 == 1 {
                by_bare.push(bare.timed().await?);
            }
        }
        if round > 0 {
            println!("{}", json!({ "bare": by_bare, "client": by_client }));
        }
    }
    Ok(())
}

/// Makes calls at once. The client has the deadline that it has by default.
async fn measure_bursts(weir: &Weir, bare: &Bare, rounds: usize) -> Outcome<()> {
    for size in [1, 64, 300, 1_000] {
        let (mut by_bare, mut by_client, mut late) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..=rounds {
            let (bare_ns, _) = burst(size, || {
                let bare = bare.clone();
                async move { bare.timed().await.is_ok() }
            })
            .await?;
            let (client_ns, undecided) = burst(size, || {
                let weir = weir.clone();
                async move { timed(&weir, &request()).await.is_ok() }
            })
            .await?;
            if round > 0 {
                by_bare.push(bare_ns);
                by_client.push(client_ns);
                late.push(undecided);
            }
        }
        println!(
            "{}",
            json!({ "at_once": size, "bare": by_bare, "client": by_client, "late": late })
        );
    }
    Ok(())
}

/// The time of this number of calls at once, and how many of them no gate decided in time.
async fn burst<Call>(size: usize, call: impl Fn() -> Call) -> Outcome<(u64, usize)>
where
    Call: Future<Output = bool> + Send + 'static,
{
    let begun = Instant::now();
    let mut calls: JoinSet<bool> = (0..size).map(|_| call()).collect();
    let mut late = 0;
    while let Some(decided) = calls.join_next().await {
        late += usize::from(!decided?);
    }
    Ok((u64::try_from(begun.elapsed().as_nanos())?, late))
}

fn request() -> CheckRequest {
    CheckRequest::new("conformance").attribute("suite", "latency").attribute("user", "rust")
}

async fn timed(weir: &Weir, request: &CheckRequest) -> Outcome<u64> {
    let begun = Instant::now();
    let answer = weir.check(request).await?;
    let taken = u64::try_from(begun.elapsed().as_nanos())?;
    if answer.allowed && answer.degraded.is_none() {
        Ok(taken)
    } else {
        Err(format!("not a decision: {answer:?}").into())
    }
}

impl Bare {
    async fn timed(&self) -> Outcome<u64> {
        let begun = Instant::now();
        let body = json!({ "namespace": "conformance", "attributes": { "suite": "latency", "user": "rust" } });
        let request = self.http.post(format!("{}/check", self.url)).bearer_auth(&self.key);
        let answer: Value = request.json(&body).send().await?.json().await?;
        let taken = u64::try_from(begun.elapsed().as_nanos())?;
        if answer["allowed"] == true && answer["degraded"].is_null() {
            Ok(taken)
        } else {
            Err(format!("not a decision: {answer}").into())
        }
    }
}
