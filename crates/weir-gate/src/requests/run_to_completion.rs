//! A future that runs to its end even if its caller drops it.
//!
//! The server drops the handler of a client that closes its connection. A check that is in flight to Redis at that moment is
//! charged: its decision must still be counted, and units that it leased must still be added to the lease.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// Runs in the task that polls it and, if it is dropped unfinished, in a task of its own.
pub(crate) struct RunToCompletion<T: Send + 'static>(
    Option<Pin<Box<dyn Future<Output = T> + Send>>>,
);

impl<T: Send + 'static> RunToCompletion<T> {
    pub(crate) fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        // Boxed at once: the future is large, and each layer around the handler would move it.
        Self(Some(Box::pin(work)))
    }
}

impl<T: Send + 'static> Future for RunToCompletion<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let work = self.0.as_mut().expect("a finished future is not polled again");
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for RunToCompletion<T> {
    fn drop(&mut self) {
        if let Some(work) = self.0.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move { drop(work.await) });
        }
    }
}
