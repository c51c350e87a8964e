//! The parts of a gate that defers jobs: the queues, the webhooks, and the places of its workers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_domain::id::{DeferredId, TenantId};
use weir_redis::deferred::{CLAIM, DeferredJob, DeferredJobs, JobState, TakenJob};
use weir_store::Store;
use weir_webhook::{Sealing, Sender};

use super::targets::Targets;

/// The parts that a gate needs to defer jobs.
#[derive(Debug)]
pub struct DeferralParts {
    /// The queues.
    pub jobs: DeferredJobs,
    /// Holds the webhooks of tenants.
    pub store: Store,
    /// Opens the secrets of webhooks.
    pub sealing: Sealing,
    /// Sends to webhooks. Its deadline is shorter than a claim.
    pub sender: Sender,
}

/// The deferral of a gate.
#[derive(Debug)]
pub(crate) struct Deferral {
    pub(super) jobs: DeferredJobs,
    pub(super) targets: Targets,
    pub(super) sender: Sender,
    pub(super) workers: Workers,
}

/// The workers of all tenants.
#[derive(Debug)]
pub(super) struct Workers {
    /// The attempts at once of this gate. Waiting workers get places in the order in which they asked.
    pub(super) places: Arc<Semaphore>,
    tenants: Mutex<HashMap<TenantId, Arc<Worker>>>,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
}

/// The worker of a tenant.
#[derive(Debug)]
pub(super) struct Worker {
    /// The attempts at once of this tenant.
    pub(super) places: Arc<Semaphore>,
    pub(super) changed: Notify,
}

/// The most attempts at once, of all tenants and of one.
const AT_ONCE: usize = 256;
pub(super) const AT_ONCE_PER_TENANT: usize = 8;

impl Deferral {
    pub(super) fn new(parts: DeferralParts) -> Self {
        let DeferralParts { jobs, store, sealing, sender } = parts;
        let workers = Workers {
            places: Arc::new(Semaphore::new(AT_ONCE)),
            tenants: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        Self { jobs, targets: Targets::new(store, sealing), sender, workers }
    }

    /// The job that was just stored, as a claimed one.
    pub(super) fn first(
        &self,
        id: DeferredId,
        job: DeferredJob,
        state: JobState,
        claim: u64,
    ) -> TakenJob {
        let claim_ms = u64::try_from(CLAIM.as_millis()).unwrap_or(u64::MAX);
        TakenJob { id, job, state, claim, now_ms: claim.saturating_sub(claim_ms) }
    }
}

impl Workers {
    pub(super) fn tenants(&self) -> MutexGuard<'_, HashMap<TenantId, Arc<Worker>>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
