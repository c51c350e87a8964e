//! The health service of gRPC: as ready as `/readyz`.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::state::GateState;

/// The longest time by which a watched status is behind `/readyz`.
const INTERVAL: Duration = Duration::from_millis(100);
/// The most watched statuses at a time: each is compared in every interval.
const WATCHED_MAX: usize = 1_000;
/// The most bytes of a call, which needs no key: it holds the name of a service.
const MESSAGE_BYTES_MAX: usize = 1024;

/// The status of the whole server, whose name is empty, and of the service `name`.
#[derive(Clone)]
pub(super) struct HealthService {
    state: GateState,
    name: &'static str,
    leaving: CancellationToken,
    watchers: Arc<Semaphore>,
}

impl HealthService {
    /// `leaving` is cancelled when the process begins to stop.
    pub(super) fn new(state: GateState, name: &'static str, leaving: CancellationToken) -> Self {
        Self { state, name, leaving, watchers: Arc::new(Semaphore::new(WATCHED_MAX)) }
    }

    pub(super) fn into_server(self) -> HealthServer<impl Health> {
        HealthServer::new(self).max_decoding_message_size(MESSAGE_BYTES_MAX)
    }

    fn verify_name(&self, request: &Request<HealthCheckRequest>) -> Result<(), Status> {
        let name = request.get_ref().service.as_str();
        let is_known = name.is_empty() || name == self.name;
        is_known.then_some(()).ok_or_else(|| Status::not_found("no such service"))
    }

    fn status(&self) -> ServingStatus {
        let is_ready = self.state.ready().is_ok() && !self.leaving.is_cancelled();
        if is_ready { ServingStatus::Serving } else { ServingStatus::NotServing }
    }

    /// Waits until the status differs from `sent`.
    async fn other_than(&self, sent: Option<ServingStatus>) -> ServingStatus {
        loop {
            let status = self.status();
            if sent != Some(status) {
                return status;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
}

#[tonic::async_trait]
impl Health for HealthService {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        self.verify_name(&request)?;
        Ok(Response::new(HealthCheckResponse { status: self.status().into() }))
    }

    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        self.verify_name(&request)?;
        let watcher = Arc::clone(&self.watchers).try_acquire_owned();
        let watcher = watcher.map_err(|_| Status::resource_exhausted("too many watchers"))?;
        let first = (self.clone(), watcher, None);
        let statuses = stream::unfold(first, |(service, watcher, sent)| async move {
            let status = service.other_than(sent).await;
            let answer = HealthCheckResponse { status: status.into() };
            Some((Ok(answer), (service, watcher, Some(status))))
        });
        Ok(Response::new(statuses.boxed()))
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;
    use weir_domain::rulebook::Rulebook;
    use weir_domain::time::{Clock, Timestamp};
    use weir_redis::limiter::{Limiter, LimiterSettings};

    use super::*;
    use crate::memory::monotonic::Monotonic;

    #[tokio::test]
    async fn gate_serves_after_redis_has_answered_and_until_it_leaves() {
        let redis = weir_redis::client(&weir_local::shared::redis().url()).expect("an address");
        let stop = CancellationToken::new();
        let (limiter, batcher) = Limiter::new(redis, LimiterSettings::default(), stop.clone());
        let clock = Clock::new(|| Timestamp::from_millis(0));
        let state = GateState::supplied(limiter, clock, Monotonic::default());
        let leaving = CancellationToken::new();
        let service = HealthService::new(state.clone(), "weir.Test", leaving.clone());
        let ask = async |name: &str| {
            let answer = service.check(Request::new(request(name))).await?.into_inner();
            Ok::<_, Status>(answer.status())
        };
        let named = Request::new(request("weir.Test"));
        let mut watched = service.watch(named).await.expect("it is known").into_inner();
        let mut next = async || watched.next().await.expect("no end").expect("a status").status();
        assert_eq!(ask("").await.expect("it is known"), ServingStatus::NotServing);
        state.held.apply(Rulebook::default());
        assert_eq!(ask("weir.Test").await.expect("it is known"), ServingStatus::NotServing);
        assert_eq!(next().await, ServingStatus::NotServing);
        tokio::spawn(batcher);
        assert_eq!(next().await, ServingStatus::Serving);
        assert_eq!(ask("").await.expect("it is known"), ServingStatus::Serving);
        assert_eq!(ask("weir.Other").await.expect_err("it is unknown").code(), Code::NotFound);
        leaving.cancel();
        assert_eq!(next().await, ServingStatus::NotServing);
        stop.cancel();
        let mut watched = vec![watched];
        let refused = loop {
            match service.watch(Request::new(request(""))).await {
                Ok(more) => watched.push(more.into_inner()),
                Err(refused) => break refused,
            }
        };
        assert_eq!((watched.len(), refused.code()), (WATCHED_MAX, Code::ResourceExhausted));
    }

    fn request(name: &str) -> HealthCheckRequest {
        HealthCheckRequest { service: name.to_owned() }
    }
}
