//! Requests for units that are made before the units are needed, because the home is far.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::request::LeaseRequest;

/// Requests that wait for the lease keeper. A lease has at most one.
#[derive(Debug, Default)]
pub(super) struct EarlyRequests {
    waiting: Mutex<Vec<LeaseRequest>>,
    added: Notify,
}

impl EarlyRequests {
    pub(super) fn push(&self, request: LeaseRequest) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        self.added.notify_one();
    }

    /// Waits for requests, and takes them out.
    pub(super) async fn take(&self) -> Vec<LeaseRequest> {
        loop {
            let requests =
                std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
            if !requests.is_empty() {
                return requests;
            }
            self.added.notified().await;
        }
    }
}
