//! The policy of a Redis that evicts counters, for the log and `/readyz`.

use std::sync::{Mutex, PoisonError};

/// The `maxmemory-policy` of Redis, if it evicts keys.
#[derive(Debug, Default)]
pub(crate) struct EvictionPolicy(Mutex<Option<String>>);

impl EvictionPolicy {
    /// The fault of a Redis that evicts keys, and its cure.
    pub(crate) fn warning(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_deref().map(text)
    }

    /// Replaces the policy, and logs a change.
    pub(crate) fn note(&self, policy: Option<String>) {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &policy {
            _ if *own == policy => {}
            Some(policy) => tracing::warn!("{}", text(policy)),
            None => tracing::info!("Redis no longer evicts counters"),
        }
        *own = policy;
    }
}

fn text(policy: &str) -> String {
    format!(
        "redis evicts counters, so more is admitted than the limits: set maxmemory-policy to noeviction (it is {policy})"
    )
}
