//! Takes jobs that are due, and attempts them: a worker for each tenant with jobs, a bounded number of attempts at once for
//! each tenant and for the gate. A slow receiver occupies only the places of its own tenant, and tenants get places of the
//! gate in turn.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use weir_domain::id::TenantId;
use weir_redis::deferred::{CLAIM, QueueUse, Settled, TakenJob};
use weir_wire::check::CheckAnswer;

use super::attempt::attempt;
use super::deferral::{AT_ONCE_PER_TENANT, Deferral, DeferralParts, Worker, Workers};
use super::usage;
use crate::metrics::events::DeferredEvent;
use crate::state::GateState;

/// The task that runs the workers.
#[derive(Debug)]
pub struct DeferredWorkers {
    state: GateState,
    deferral: Arc<Deferral>,
}

/// Places for one attempt.
type Places = (OwnedSemaphorePermit, OwnedSemaphorePermit);

/// The interval in which tenants with due jobs are sought. Jobs of a gate that ended are found by it.
const SEARCH_EVERY: Duration = Duration::from_millis(500);
/// The longest wait of a worker: another gate can have stored a job meanwhile.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// The pause while Redis does not answer.
const AWAY_PAUSE: Duration = Duration::from_millis(250);

impl DeferredWorkers {
    /// Lets the gate of `state` defer jobs. Run the task, or nothing but first attempts is delivered.
    pub fn new(state: GateState, parts: DeferralParts) -> Self {
        let deferral = Arc::new(Deferral::new(parts));
        let deferral = Arc::clone(state.deferral.get_or_init(|| deferral));
        state.meters.deferred_use(QueueUse::default());
        Self { state, deferral }
    }

    /// Seeks tenants with due jobs until `stop`, and finishes the attempts in progress.
    pub async fn run(self, stop: CancellationToken) {
        let Self { state, deferral } = self;
        tokio::join!(seek(&state, &deferral, &stop), usage::watch(&state, &deferral, &stop));
        deferral.workers.stop.cancel();
        deferral.workers.tasks.close();
        deferral.workers.tasks.wait().await;
    }
}

/// Seeks tenants with due jobs until `stop`.
async fn seek(state: &GateState, deferral: &Arc<Deferral>, stop: &CancellationToken) {
    while stop.run_until_cancelled(sleep(SEARCH_EVERY)).await.is_some() {
        for tenant in deferral.jobs.due_tenants(WAIT_MAX).await {
            wake(state, deferral, tenant);
        }
    }
}

/// Starts the worker of a tenant, or lets it look for jobs.
pub(super) fn wake(state: &GateState, deferral: &Arc<Deferral>, tenant: TenantId) {
    let workers = &deferral.workers;
    let mut tenants = workers.tenants();
    if let Some(worker) = tenants.get(&tenant) {
        worker.changed.notify_one();
        return;
    }
    if workers.stop.is_cancelled() {
        return;
    }
    let places = Arc::new(Semaphore::new(AT_ONCE_PER_TENANT));
    let worker = Arc::new(Worker { places, changed: Notify::new() });
    tenants.insert(tenant, Arc::clone(&worker));
    let state = state.clone();
    let deferral = Arc::clone(deferral);
    workers.tasks.spawn(async move { serve(&state, &deferral, tenant, &worker).await });
}

/// Attempts a job that the caller has claimed. `None` if there is no place; then the worker attempts it later.
pub(super) async fn attempt_now(
    state: &GateState,
    deferral: &Arc<Deferral>,
    tenant: TenantId,
    taken: TakenJob,
) -> Option<(Settled, Option<CheckAnswer>)> {
    let workers = &deferral.workers;
    wake(state, deferral, tenant);
    let worker = workers.tenants().get(&tenant).cloned()?;
    let of_gate = Arc::clone(&workers.places).try_acquire_owned();
    let of_tenant = Arc::clone(&worker.places).try_acquire_owned();
    let (Ok(of_gate), Ok(of_tenant)) = (of_gate, of_tenant) else {
        let claim = (taken.id, taken.state.order.as_str(), taken.claim);
        // If this fails, the job waits until the claim ends.
        let later = Settled::Undecided(Duration::ZERO);
        _ = deferral.jobs.settle(tenant, claim, &later).await;
        worker.changed.notify_one();
        return None;
    };
    let (send, receive) = oneshot::channel();
    let state = state.clone();
    let deferral = Arc::clone(deferral);
    workers.tasks.spawn(async move {
        let done = finish(&state, &deferral, tenant, (of_gate, of_tenant), taken).await;
        worker.changed.notify_one();
        // The caller has possibly stopped waiting.
        _ = send.send(done);
    });
    receive.await.ok()
}

/// Takes and attempts the jobs of a tenant until none waits.
async fn serve(
    state: &GateState,
    deferral: &Arc<Deferral>,
    tenant: TenantId,
    worker: &Arc<Worker>,
) {
    let workers = &deferral.workers;
    while !workers.stop.is_cancelled() {
        let Some(places) = places(workers, worker).await else { break };
        let pause = match deferral.jobs.take(tenant, 1).await {
            Ok(taken) => match taken.jobs.into_iter().next() {
                Some(job) => {
                    let state = state.clone();
                    let deferral = Arc::clone(deferral);
                    let worker = Arc::clone(worker);
                    workers.tasks.spawn(async move {
                        finish(&state, &deferral, tenant, places, job).await;
                        worker.changed.notify_one();
                    });
                    continue;
                }
                None => taken.next,
            },
            Err(error) => {
                tracing::debug!(reason = error.label(), "could not claim deferred jobs");
                Some(AWAY_PAUSE)
            }
        };
        drop(places);
        let Some(pause) = pause else {
            if worker.places.available_permits() == AT_ONCE_PER_TENANT {
                break;
            }
            worker.changed.notified().await;
            continue;
        };
        tokio::select! {
            () = worker.changed.notified() => {}
            () = sleep(pause.min(WAIT_MAX)) => {}
            () = workers.stop.cancelled() => {}
        }
    }
    workers.tenants().remove(&tenant);
}

async fn places(workers: &Workers, worker: &Worker) -> Option<Places> {
    let of_tenant = Arc::clone(&worker.places).acquire_owned().await.ok()?;
    let of_gate = Arc::clone(&workers.places).acquire_owned().await.ok()?;
    Some((of_gate, of_tenant))
}

/// Attempts a job, and ends its claim.
async fn finish(
    state: &GateState,
    deferral: &Deferral,
    tenant: TenantId,
    places: Places,
    taken: TakenJob,
) -> (Settled, Option<CheckAnswer>) {
    let began = Instant::now();
    let (settled, answer) = attempt(state, deferral, tenant, &taken).await;
    match &settled {
        Settled::Delivered => state.meters.deferred.count(DeferredEvent::Delivered, 1),
        Settled::Failed(_) => state.meters.deferred.count(DeferredEvent::Failed, 1),
        Settled::Undelivered(..) => state.meters.deferred.count(DeferredEvent::Undelivered, 1),
        Settled::Denied(_) | Settled::Undecided(_) | Settled::Charged(_) => {}
    }
    let claim = (taken.id, taken.state.order.as_str(), taken.claim);
    // Without the result, the job is attempted again after the claim, so a result is repeated until then.
    while let Err(error) = deferral.jobs.settle(tenant, claim, &settled).await {
        tracing::debug!(reason = error.label(), job = %taken.id, "could not record the result of a deferred job");
        if began.elapsed() > CLAIM {
            break;
        }
        sleep(AWAY_PAUSE).await;
    }
    drop(places);
    (settled, answer)
}
