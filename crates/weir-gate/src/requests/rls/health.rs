//! The health service of gRPC: as ready as `/readyz`.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::server::health_reporter;

use crate::state::GateState;

/// The longest time by which the service is behind `/readyz`.
const INTERVAL: Duration = Duration::from_millis(100);
/// The most bytes of a call, which needs no key: it holds the name of a service.
const MESSAGE_BYTES_MAX: usize = 1024;

/// The service, and the task that keeps it up to date.
pub(super) fn start(
    state: GateState,
    name: &'static str,
    leaving: CancellationToken,
) -> (HealthServer<impl Health>, impl Future<Output = ()> + Send + 'static) {
    let (reporter, service) = health_reporter();
    let task = async move {
        let mut known = None;
        loop {
            let is_ready = state.rulebook_version().is_some()
                && !state.held.refuses()
                && !leaving.is_cancelled();
            if known != Some(is_ready) {
                known = Some(is_ready);
                let status =
                    if is_ready { ServingStatus::Serving } else { ServingStatus::NotServing };
                // The empty name is that of the whole server.
                reporter.set_service_status("", status).await;
                reporter.set_service_status(name, status).await;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    };
    (service.max_decoding_message_size(MESSAGE_BYTES_MAX), task)
}
