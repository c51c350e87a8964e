//! Signals. After SIGTERM the process is not ready but still serves, so that load balancers notice before its ports close; then
//! it stops in order. SIGINT stops it in order without that time, and each further signal shortens the end by one step.

use std::process;
use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::running::Running;

/// Stops `running` on SIGTERM, after `drain`, and on SIGINT, at once.
pub fn stop_on_signal(running: &Running, drain: Duration) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for SIGINT")?;
    ignore_hangup(running)?;
    let leaving = running.leaving.clone();
    let stop = running.stop.clone();
    running.spawn_untracked("signals", async move {
        if next(&mut terminate, &mut interrupt).await == SignalKind::terminate() {
            tracing::info!(
                drain_ms = drain.as_millis(),
                "received a stop signal: serving for the drain period"
            );
            leaving.cancel();
            tokio::select! {
                () = tokio::time::sleep(drain) => {}
                () = stop.cancelled() => {}
                _ = next(&mut terminate, &mut interrupt) => {}
            }
        }
        tracing::info!("stopping");
        stop.cancel();
        next(&mut terminate, &mut interrupt).await;
        process::exit(130);
    });
    Ok(())
}

/// Logs a SIGHUP, which would end a process that does not handle it. Settings are read only at the start.
fn ignore_hangup(running: &Running) -> anyhow::Result<()> {
    let mut hangup = signal(SignalKind::hangup()).context("listen for SIGHUP")?;
    running.spawn_untracked("hangup signal", async move {
        while hangup.recv().await.is_some() {
            tracing::info!("ignoring SIGHUP: settings and keys are read at start-up only");
        }
    });
    Ok(())
}

async fn next(terminate: &mut Signal, interrupt: &mut Signal) -> SignalKind {
    tokio::select! {
        _ = terminate.recv() => SignalKind::terminate(),
        _ = interrupt.recv() => SignalKind::interrupt(),
    }
}
