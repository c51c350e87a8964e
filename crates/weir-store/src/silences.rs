//! The last silence of Postgres, which ends the connections that were opened before it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time when Postgres last left a statement of this pool unanswered. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Silences(Arc<Mutex<Option<Instant>>>);

impl Silences {
    pub(crate) fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether a silence was noted in this time.
    pub(crate) fn since(&self, age: Duration) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|silence| silence.elapsed() < age)
    }
}
