//! Limits the records of refused sign-ins, which are written after the answer.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_domain::time::Timestamp;
use weir_redis::attempts::Budget;

use super::windows::Windows;

/// Permits for records of refused sign-ins.
#[derive(Debug)]
pub(crate) struct RefusedLogins {
    writing: Arc<Semaphore>,
    /// The records of this minute about addresses without an account.
    unknown: Mutex<Windows>,
}

const WRITING_MAX: usize = 64;
const UNKNOWN_PER_MINUTE_MAX: u32 = 60;
const MINUTE_MS: i64 = 60_000;

impl Default for RefusedLogins {
    fn default() -> Self {
        Self {
            writing: Arc::new(Semaphore::new(WRITING_MAX)),
            unknown: Mutex::new(Windows::new(1)),
        }
    }
}

impl RefusedLogins {
    /// Permission to write one record, held until it is written. `known` is whether the address has an account.
    pub(crate) fn permit(&self, known: bool, now: Timestamp) -> Option<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.writing).try_acquire_owned().ok()?;
        (known || self.admit_unknown(now)).then_some(permit)
    }

    fn admit_unknown(&self, now: Timestamp) -> bool {
        let budget = Budget { name: [0; 16], attempts_max: UNKNOWN_PER_MINUTE_MAX };
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        unknown.admit(&[budget], now, MINUTE_MS).is_ok()
    }
}
