//! Common parts of the tests: a stack of real processes, its users, and waits with a deadline.

mod certificate;
mod dev;
mod http;
mod mail;
mod oidc;
mod process;
mod programs;
mod span_receiver;
mod stack;
mod tenant;

use std::time::{Duration, Instant};

pub use certificate::Certificate;
pub use dev::{Dev, base_port, listens, processes_with};
pub use http::{Http, Reply, send, try_send};
pub use mail::{MailServer, MailServerOptions};
pub use oidc::OidcServer;
pub use process::{Server, binary, folder, send_signal, weir};
pub use programs::installed;
pub use span_receiver::{ReceivedSpan, SpanReceiver};
pub use stack::{GateSettings, PATIENT_MS, Stack, control_env, shared, signing_key, start_control};
pub use tenant::{Rule, Tenant};

const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Waits until `holds` returns true.
///
/// # Panics
/// If that takes longer than `at_most`.
pub async fn until(
    at_most: Duration,
    what: &str,
    mut holds: impl AsyncFnMut() -> bool,
) -> Duration {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < at_most, "waited {at_most:?} for this: {what}");
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    began.elapsed()
}

/// The metrics of a plane.
pub async fn metrics(url: &str) -> String {
    let request = Http::new().request(reqwest::Method::GET, &format!("{url}/metrics"));
    let response = request.send().await.expect("a scrape");
    response.text().await.expect("text")
}

/// The value of a series of a plane, a whole number: its name and, if it has any, its labels. 0 if there is none.
pub async fn metric(url: &str, series: &str) -> u64 {
    let text = metrics(url).await;
    let mut values = text.lines().filter_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    values.find_map(|value| value.parse::<u64>().ok()).unwrap_or(0)
}

/// Prints a measurement.
#[expect(clippy::print_stdout, reason = "figures are for the person who runs the tests")]
pub fn print(figures: &str) {
    println!("{figures}");
}

pub const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}
