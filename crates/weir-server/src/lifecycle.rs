//! Signals. The first SIGTERM or SIGINT stops the process in order; a second one ends it at once.

use std::process;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::running::Running;

/// Cancels `running.stop` on SIGTERM or SIGINT.
pub fn stop_on_signal(running: &Running) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for SIGINT")?;
    ignore_hangup(running)?;
    let stop = running.stop.clone();
    running.spawn_untracked("signals", async move {
        next(&mut terminate, &mut interrupt).await;
        tracing::info!("asked to stop");
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
            tracing::info!("SIGHUP is ignored: settings and keys are read when a process starts");
        }
    });
    Ok(())
}

async fn next(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
