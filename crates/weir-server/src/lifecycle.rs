//! Signals: the first asks everything to end in order, a second ends at once.

use std::process;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled by SIGTERM or SIGINT.
pub fn shutdown_on_signal() -> anyhow::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate()).context("listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for SIGINT")?;
    ignore_hangup()?;
    let token = CancellationToken::new();
    let cancelled = token.clone();
    tokio::spawn(async move {
        next(&mut terminate, &mut interrupt).await;
        tracing::info!("asked to stop");
        cancelled.cancel();
        next(&mut terminate, &mut interrupt).await;
        process::exit(130);
    });
    Ok(token)
}

/// SIGHUP ends a process that does not handle it. Settings are read at the start alone, so it is logged and nothing else.
fn ignore_hangup() -> anyhow::Result<()> {
    let mut hangup = signal(SignalKind::hangup()).context("listen for SIGHUP")?;
    tokio::spawn(async move {
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
