//! Waits for rare events beside work that is polled often.

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

/// Waits for an event that rarely happens. It is polled only when it was woken itself. Polled whenever the connection's task
/// runs, which is twice for each request, a token or a timer takes a lock each time.
pub(super) async fn rarely<F: Future>(event: F) -> F::Output {
    let mut events = FuturesUnordered::from_iter([event]);
    match events.next().await {
        Some(output) => output,
        // There is one event until it has happened.
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;

    use futures_util::poll;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test]
    async fn event_is_polled_only_when_it_was_woken() {
        let (token, polls) = (CancellationToken::new(), Cell::new(0));
        let mut cancelled = pin!(token.cancelled());
        let event = poll_fn(|context| {
            polls.set(polls.get() + 1);
            cancelled.as_mut().poll(context)
        });
        let mut event = pin!(rarely(event));
        for _ in 0..10 {
            assert!(poll!(event.as_mut()).is_pending());
        }
        assert_eq!(polls.get(), 1);
        token.cancel();
        assert_eq!(poll!(event.as_mut()), Poll::Ready(()));
        assert_eq!(polls.get(), 2);
    }
}
