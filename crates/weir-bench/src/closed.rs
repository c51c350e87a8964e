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
    let mut command = Command::new("wrk");
    command.args(["-t", &connections.min(2).to_string()]);
    wrk(command, connections, length, &script, &variant.address).await
}

/// One request, sent without pause. The sender has the lowest priority, so that its own work delays no other program.
#[derive(Debug, Clone)]
pub struct Flood {
    pub label: &'static str,
    pub address: String,
    pub path: &'static str,
    pub bearer: String,
    pub body: String,
}

impl Flood {
    /// Sends the request over this number of connections.
    pub async fn run(
        &self,
        connections: u16,
        length: Duration,
        folder: &Path,
    ) -> Result<ClosedRun> {
        let script = folder.join(format!("{}.lua", self.label));
        std::fs::write(&script, self.lua()).context("write the script of wrk")?;
        let mut command = Command::new("nice");
        command.args(["-n", "19", "wrk", "-t", "1"]);
        wrk(command, connections, length, &script, &self.address).await
    }

    fn lua(&self) -> String {
        let Self { path, bearer, body, .. } = self;
        format!(
            r#"local flood
function init(args)
  local headers = {{ ["Content-Type"] = "application/json", ["Authorization"] = "Bearer {bearer}" }}
  flood = wrk.format("POST", "{path}", headers, [==[{body}]==])
end
function request()
  return flood
end
{DONE}"#
        )
    }
}

/// Runs a command that ends in `wrk` and its threads.
async fn wrk(
    mut command: Command,
    connections: u16,
    length: Duration,
    script: &Path,
    address: &str,
) -> Result<ClosedRun> {
    let output = command
        .args(["-c", &connections.to_string()])
        .args(["-d", &format!("{}s", length.as_secs().max(1)), "--timeout", "5s", "-s"])
        .arg(script)
        .arg(format!("http://{address}"))
        .kill_on_drop(true)
        .output()
        .await
        .context("start wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "wrk: {text}{}", String::from_utf8_lossy(&output.stderr));
    result(&text).with_context(|| format!("understand wrk: {text}"))
}

/// The end of every script: prints the line that `result` reads.
const DONE: &str = r#"function done(summary)
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %d %d\n", summary.requests, summary.duration, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
"#;

/// The script of wrk. Every thread sends requests for all subjects in an order that defeats caches, from a position of its
/// own.
fn lua(variant: &Variant) -> String {
    let Variant { path, body, .. } = variant;
    let (header, key) = variant.key_header();
    format!(
        r#"local threads = 0
function setup(thread)
  thread:set("first", threads * 4001)
  threads = threads + 1
end
local requests, at = {{}}, 0
function init(args)
  local headers = {{ ["Content-Type"] = "application/json", ["{header}"] = "{key}" }}
  for i = 1, {SUBJECTS} do
    local path = string.gsub("{path}", "SUBJECT", i)
    requests[i] = wrk.format("POST", path, headers, (string.gsub([==[{body}]==], "SUBJECT", i)))
  end
  at = first
end
function request()
  at = (at + 7919) % {SUBJECTS}
  return requests[at + 1]
end
{DONE}"#
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
