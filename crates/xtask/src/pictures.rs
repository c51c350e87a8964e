//! `cargo xtask pictures`: the pictures in docs/screenshots, of `weir dev --demo` in a browser.
//!
//! It builds nothing, so the pictures show the server and the dashboard as they are. The traffic needs some minutes
//! until there is something to show.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use weir_local::{Launch, ScratchDir, StopSignal, WatchedProcess};

use crate::workspace::{Workspace, call, step};

/// The longest that `weir dev` can take to start.
const START: Duration = Duration::from_mins(2);
const STOP: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// `args` are those of `weir dev`.
pub fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    let weir = workspace.program();
    let browser = workspace.path("tests/browser");
    ensure!(weir.is_file(), "there is no {}: run `cargo build -p weir-server`", weir.display());
    let dashboard = workspace.path("frontend/dist/index.html");
    ensure!(dashboard.is_file(), "there is no dashboard: run `cargo xtask dashboard`");
    ensure!(browser.join("node_modules").is_dir(), "run `npm ci` in {}", browser.display());
    let scratch = ScratchDir::create()?;
    let said = scratch.path().join("said");
    let log = scratch.path().join("log");
    let launch = Launch::new(weir, scratch.path(), &log)
        .args(["dev", "--demo", "--json", "--data-dir", "data"])
        .args(args)
        .stdout(&said)
        .stop_by(StopSignal::Interrupt, STOP);
    let process = WatchedProcess::spawn(launch).context("start weir dev")?;
    let ready = step("start weir dev --demo", || until_ready(&process))?;
    let text = |pointer: &str| -> Result<String> {
        let found = ready.pointer(pointer).and_then(Value::as_str);
        found.map(str::to_owned).with_context(|| format!("weir dev printed no {pointer}"))
    };
    let mut script = Command::new("node");
    script
        .arg("pictures.mjs")
        .current_dir(&browser)
        .env("PICTURES", workspace.path("docs/screenshots"))
        .env("BASE_URL", text("/control")?)
        .env("EMAIL", text("/email")?)
        .env("PASSWORD", text("/password")?)
        .env("TENANT", text("/traffic/tenant")?)
        .env("GATES", [text("/gates/0")?, text("/gates/1")?].join(","));
    step("take pictures", || call(&mut script))
}

/// The line that `weir dev` prints when it is ready.
fn until_ready(process: &WatchedProcess) -> Result<Value> {
    let until = Instant::now() + START;
    loop {
        if let Ok(line @ Value::Object(_)) = serde_json::from_str(process.stdout().trim()) {
            return Ok(line);
        }
        ensure!(process.exit_code().is_none(), "weir dev ended:\n{}", process.log_tail());
        ensure!(Instant::now() < until, "weir dev is not ready:\n{}", process.log_tail());
        thread::park_timeout(LOOK_AGAIN);
    }
}
