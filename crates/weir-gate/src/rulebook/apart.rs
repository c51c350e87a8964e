//! Work that takes long without a turn for other tasks, on threads where no request waits for a turn.

use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

/// Runs a closure on a thread of its own. `None` if it panics, which is logged.
pub(super) async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let done = spawn_blocking(work).await;
    done.inspect_err(|error| tracing::error!(%error, "could not compile the rulebook")).ok()
}

/// Runs a future on a thread of its own, and cancels it if the returned future is dropped. `None` if it panics.
pub(super) async fn read<T: Send + 'static>(
    reading: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let runtime = Handle::current();
    let cancelled = CancellationToken::new();
    let _guard = cancelled.clone().drop_guard();
    run(move || runtime.block_on(cancelled.run_until_cancelled(reading))).await.flatten()
}
