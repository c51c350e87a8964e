//! The budget of bytes of request bodies that the requests in progress of a connection, and of an address, hold.
//!
//! A body counts from the moment at which its bytes leave the connection until its request is answered. Without this bound a
//! client could make the process hold the longest body once for each stream of each connection.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};

/// The error of a body beyond the budget of its connection or address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverBudget;

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the requests in progress of this client hold too many bytes")
    }
}

impl std::error::Error for OverBudget {}

impl OverBudget {
    /// Whether an error, or a source of it, is this one.
    pub fn caused(error: &(dyn std::error::Error + 'static)) -> bool {
        let mut next = Some(error);
        while let Some(error) = next {
            if error.is::<Self>() {
                return true;
            }
            next = error.source();
        }
        false
    }
}

/// Bytes in use, and the most of them.
#[derive(Debug)]
pub(super) struct Budget {
    used: Arc<AtomicUsize>,
    max: usize,
}

/// The bytes that one request holds. Dropping it gives them back.
#[derive(Debug)]
pub(super) struct Held {
    budgets: Arc<[Budget]>,
    bytes: AtomicUsize,
}

/// A body whose bytes are counted.
#[derive(Debug)]
pub(super) struct CountedBody {
    body: Incoming,
    held: Arc<Held>,
}

impl Budget {
    pub(super) fn new(used: Arc<AtomicUsize>, max: usize) -> Self {
        Self { used, max }
    }

    fn take(&self, bytes: usize) -> bool {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= self.max;
        if !fits {
            self.give_back(bytes);
        }
        fits
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Held {
    /// A request that holds nothing yet.
    pub(super) fn new(budgets: &Arc<[Budget]>) -> Arc<Self> {
        Arc::new(Self { budgets: Arc::clone(budgets), bytes: AtomicUsize::new(0) })
    }

    fn take(&self, bytes: usize) -> Result<(), OverBudget> {
        for (place, budget) in self.budgets.iter().enumerate() {
            if !budget.take(bytes) {
                self.budgets[..place].iter().for_each(|taken| taken.give_back(bytes));
                return Err(OverBudget);
            }
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        self.budgets.iter().for_each(|budget| budget.give_back(bytes));
    }
}

impl CountedBody {
    pub(super) fn new(body: Incoming, held: &Arc<Held>) -> Self {
        Self { body, held: Arc::clone(held) }
    }
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
            && let Err(error) = self.held.take(data.len())
        {
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        }
        Poll::Ready(frame.map(|frame| frame.map_err(axum::Error::new)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_a_connection_and_of_an_address_share_their_budgets_until_they_end() {
        let of_address = Arc::new(AtomicUsize::new(0));
        let connection = || -> Arc<[Budget]> {
            Arc::new([Budget::new(Arc::default(), 10), Budget::new(Arc::clone(&of_address), 15)])
        };
        let (one, two) = (connection(), connection());
        let first = Held::new(&one);
        assert_eq!((first.take(6), first.take(4)), (Ok(()), Ok(())));
        assert_eq!(Held::new(&one).take(1), Err(OverBudget), "the connection's");
        let other = Held::new(&two);
        assert_eq!((other.take(6), other.take(5)), (Err(OverBudget), Ok(())), "the address'");
        assert_eq!(of_address.load(Ordering::Relaxed), 15);
        drop(first);
        assert_eq!(other.take(5), Ok(()));
        drop(other);
        assert_eq!(of_address.load(Ordering::Relaxed), 0);
    }
}
