//! The end of a turn: long work lets others run in between.

/// Lets other threads and other tasks of this thread run.
///
/// The kernel takes the processor from a busy thread only at a tick, up to 4 ms later. Until then, a thread with a request
/// of another tenant could wait behind a large batch.
pub async fn end_turn() {
    std::thread::yield_now();
    tokio::task::yield_now().await;
}
