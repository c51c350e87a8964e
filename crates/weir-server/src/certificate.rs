//! The certificate of a listener, which is read again when its files change.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use weir_http::serve::{Tls, TlsFiles};

use crate::running::Running;

/// The interval at which the files are read.
const READ_EVERY: Duration = Duration::from_secs(5);

/// Reads the files now, and from then on until the process stops. `http1` is whether clients can negotiate HTTP/1.1.
pub fn start(
    files: Option<&TlsFiles>,
    http1: bool,
    running: &Running,
) -> anyhow::Result<Option<Arc<Tls>>> {
    let Some(files) = files else { return Ok(None) };
    let tls = Arc::new(Tls::load(files.clone(), http1).context("start TLS")?);
    let (stop, following) = (running.stop.clone(), Arc::clone(&tls));
    running.spawn("certificate", async move {
        stop.run_until_cancelled(follow(following)).await;
    });
    Ok(Some(tls))
}

/// Logs an error once, because files that are replaced one after the other do not belong together for a moment.
async fn follow(tls: Arc<Tls>) {
    let mut logged = String::new();
    loop {
        tokio::time::sleep(READ_EVERY).await;
        let reading = Arc::clone(&tls);
        let reloaded = tokio::task::spawn_blocking(move || reading.reload()).await;
        match reloaded.map_err(|error| error.to_string()) {
            Ok(Ok(changed)) => {
                logged.clear();
                if changed {
                    tracing::info!("the certificate was reloaded");
                }
            }
            Ok(Err(error)) => warn_once(&mut logged, error.to_string()),
            Err(panic) => warn_once(&mut logged, panic),
        }
    }
}

fn warn_once(logged: &mut String, error: String) {
    if *logged != error {
        tracing::warn!(error, "could not reload the certificate; the previous one stays");
        *logged = error;
    }
}
