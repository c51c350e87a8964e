//! Measures a check by the client beside the same request by reqwest: latency ROUNDS CALLS. Prints the latencies in nanoseconds as a JSON
//! object for each round.

use std::error::Error;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_ratelimit::{CheckRequest, OnError, Options, Weir};

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Bare {
    http: reqwest::Client,
    url: String,
    key: String,
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let (url, key) = (std::env::var("WEIR_GATE_URL")?, std::env::var("WEIR_KEY")?);
    let argument = |at| -> Outcome<usize> {
        Ok(std::env::args().nth(at).ok_or("usage: latency ROUNDS CALLS")?.parse()?)
    };
    let (rounds, calls) = (argument(1)?, argument(2)?);
    let options = Options::new(&url, &key, OnError::Deny);
    let weir = Weir::new(options.timeout(Duration::from_secs(20)).cache_size(0))?;
    let http = reqwest::Client::builder().no_proxy().build()?;
    let bare = Bare { http, url, key };
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
