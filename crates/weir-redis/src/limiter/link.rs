//! A link: the queue, the batcher and the state of one primary.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::sync::oneshot;
use weir_domain::id::TenantId;

use super::batcher::Batcher;
use super::pending::{PendingCheck, Reply};
use super::queue::FairQueue;
use super::settings::LimiterSettings;
use super::status::Status;
use crate::client::Client;
use crate::error::RedisError;

/// A handle of a link.
#[derive(Debug, Clone)]
pub(super) struct Link {
    queue: Arc<OpenQueue>,
    status: Arc<Status>,
}

/// The queue, which is open until the last handle is dropped.
#[derive(Debug)]
struct OpenQueue(Arc<FairQueue>);

/// The channel for the reply to a part of a batch.
pub(super) type Receiver = oneshot::Receiver<Result<Reply, RedisError>>;

impl Drop for OpenQueue {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Link {
    /// Creates a link to the primary of this client, and the task that calls it.
    pub(super) fn new(
        client: Client,
        settings: LimiterSettings,
        script_loads: Arc<AtomicU64>,
    ) -> (Self, Batcher) {
        let queue = Arc::<FairQueue>::default();
        let status = Arc::new(Status::new(script_loads));
        let batcher = Batcher::new(client, settings, Arc::clone(&queue), Arc::clone(&status));
        (Self { queue: Arc::new(OpenQueue(queue)), status }, batcher)
    }

    /// Queues a part of a batch.
    pub(super) fn push(&self, tenant: TenantId, pending: PendingCheck) -> Result<(), RedisError> {
        self.queue.0.push(tenant, pending)
    }

    pub(super) fn status(&self) -> &Status {
        &self.status
    }
}
