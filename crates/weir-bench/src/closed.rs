//! Closed loop: each of several connections of wrk sends its next request as soon as the previous one is answered.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::process::Command;

use crate::variants::{SUBJECTS, Variant};

/// The result of one run of wrk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClosedRun {
    pub requests: u64,
    pub per_second: f64,
    /// The number of answers with a status above 399.
    pub refusals: u64,
    /// The number of broken connections and missing answers.
    pub errors: u64,
}

/// Loads one variant with wrk.
pub async fn run(
    variant: &Variant,
    connections: u16,
    length: Duration,
    folder: &Path,
) -> Result<ClosedRun> {
    let script = folder.join(format!("{}.lua", variant.label));
    std::fs::write(&script, lua(variant)).context("write the script of wrk")?;
    let threads = connections.min(2);
    let output = Command::new("wrk")
        .args(["-t", &threads.to_string(), "-c", &connections.to_string()])
        .args(["-d", &format!("{}s", length.as_secs().max(1)), "--timeout", "5s", "-s"])
        .arg(&script)
        .arg(format!("http://{}", variant.address))
        .kill_on_drop(true)
        .output()
        .await
        .context("start wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "wrk: {text}{}", String::from_utf8_lossy(&output.stderr));
    result(&text).with_context(|| format!("understand wrk: {text}"))
}

/// The script of wrk. Every thread sends requests for all subjects in an order that defeats caches, from a position of its
/// own.
fn lua(variant: &Variant) -> String {
    let Variant { path, bearer, body, .. } = variant;
    format!(
        r#"local threads = 0
function setup(thread)
  thread:set("first", threads * 4001)
  threads = threads + 1
end
local requests, at = {{}}, 0
function init(args)
  local headers = {{ ["Content-Type"] = "application/json", ["Authorization"] = "Bearer {bearer}" }}
  for i = 1, {SUBJECTS} do
    requests[i] = wrk.format("POST", "{path}", headers, (string.gsub([==[{body}]==], "SUBJECT", i)))
  end
  at = first
end
function request()
  at = (at + 7919) % {SUBJECTS}
  return requests[at + 1]
end
function done(summary)
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %d %d\n", summary.requests, summary.duration, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
"#
    )
}

fn result(text: &str) -> Option<ClosedRun> {
    let line = text.lines().find_map(|line| line.strip_prefix("RESULT "))?;
    let numbers: Vec<u64> = line.split(' ').map_while(|word| word.parse().ok()).collect();
    let [requests, us, refusals, errors] = numbers[..] else { return None };
    let seconds = Duration::from_micros(us).as_secs_f64();
    let per_second = crate::numbers::float(requests) / seconds;
    Some(ClosedRun { requests, per_second, refusals, errors })
}
