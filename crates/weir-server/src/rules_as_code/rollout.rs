//! Waits until gates serve a version.

use std::time::Duration;

use tokio::time::Instant;

use super::api::Api;

const INTERVAL: Duration = Duration::from_millis(50);

/// Waits until all live gates serve a version, for at most this number of seconds. Returns what was seen.
pub async fn wait(api: &Api, version: u64, seconds: u64) -> anyhow::Result<String> {
    let began = Instant::now();
    let deadline = began + Duration::from_secs(seconds);
    loop {
        let gates = api.gates().await?.data;
        let live = gates.iter().filter(|gate| gate.rulebook_version >= version).count();
        let all = gates.len();
        if live == all || Instant::now() >= deadline {
            let ms = began.elapsed().as_millis();
            return Ok(format!("live on {live} of {all} gates after {ms} ms"));
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
