//! The admission of a call: its key is checked before anything of its message is read, and the message has bounds.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Uri;
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;
use tonic::{Code, Status};
use weir_http::bearer::credential;
use weir_http::problem::Problem;
use weir_http::serve::OverBudget;
use weir_rls::rate_limit_service_server::SERVICE_NAME;
use weir_wire::problem::ErrorCode;

use crate::metrics::refused_callers::Interface;
use crate::requests::caller::Caller;
use crate::state::GateState;

/// The longest time for a message to arrive.
const MESSAGE_DEADLINE: Duration = Duration::from_secs(10);
/// The time in which Envoy expects the answer, in milliseconds.
const EXPECTED_WITHIN: &str = "x-envoy-expected-rq-timeout-ms";

/// Lets a call with a key pass, with its [`Caller`]. Counts the errors of all calls.
pub(super) async fn admit(
    State(state): State<GateState>,
    mut request: Request,
    next: Next,
) -> Response {
    let response = match caller(&state, &request) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request.map(|body| bounded(body, MESSAGE_DEADLINE))).await
        }
        Err(problem) => {
            state.meters.refused_caller(Interface::RateLimitService, problem.code());
            refusal(&problem).into_http()
        }
    };
    let Some(status) = Status::from_header_map(response.headers()) else { return response };
    let status = of_unreadable_message(status);
    state.meters.rls.failed(status.code());
    status.into_http()
}

/// The proxy that presents a key in the metadata.
fn caller(state: &GateState, request: &Request) -> Result<Caller, Problem> {
    let headers = request.headers();
    let book = Caller::rulebook(state)?;
    let caller = Caller::of_secret(state, book, credential(headers, &Uri::default())?)?;
    let expected_ms =
        headers.get(EXPECTED_WITHIN).and_then(|value| value.to_str().ok()?.parse().ok());
    // Half of the time is for the way to the gate and back.
    let wait_max = expected_ms.map(|ms: u64| Duration::from_millis(ms) / 2);
    let name = || format!("{SERVICE_NAME}/ShouldRateLimit");
    let request_id = request.extensions().get().copied();
    Ok(Caller { request_id, wait_max, ..caller.traced(state, headers, name) })
}

/// The status of a refused caller.
fn refusal(problem: &Problem) -> Status {
    let code = match problem.code() {
        ErrorCode::Unauthenticated | ErrorCode::Malformed => Code::Unauthenticated,
        ErrorCode::Forbidden => Code::PermissionDenied,
        _ => Code::Unavailable,
    };
    Status::new(code, problem.body("").detail)
}

/// Tonic has several codes for a message that it cannot read, among them those for faults of the server.
fn of_unreadable_message(status: Status) -> Status {
    match status.code() {
        Code::Internal | Code::OutOfRange | Code::Unknown | Code::Unimplemented => {
            Status::invalid_argument(status.message())
        }
        _ => status,
    }
}

/// The bytes of a message, which arrive in time or end with a status.
fn bounded(body: Body, deadline: Duration) -> Body {
    let until = Instant::now() + deadline;
    Body::from_stream(stream::unfold(body.into_data_stream(), move |mut parts| async move {
        let part = match tokio::time::timeout_at(until, parts.next()).await {
            Ok(part) => part?.map_err(|error| of_unfinished_message(&error)),
            Err(_) => Err(Status::deadline_exceeded("the message did not arrive in 10 s")),
        };
        Some((part, parts))
    }))
}

fn of_unfinished_message(error: &axum::Error) -> Status {
    if OverBudget::caused(error) {
        return Status::resource_exhausted(OverBudget.to_string());
    }
    // Not `CANCELLED`, which tonic takes for the regular end of a message.
    Status::invalid_argument("the message ended before its end")
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn message_that_does_not_arrive_ends_with_a_status() {
        let never = stream::iter([Ok::<_, Status>(&b"\0"[..])]).chain(stream::pending());
        let body = bounded(Body::from_stream(never), Duration::from_millis(1));
        let error = body.collect().await.expect_err("it never ends");
        let mut causes = std::iter::successors(error.source(), |cause| (*cause).source());
        let status = causes.find_map(|cause| cause.downcast_ref::<Status>());
        assert_eq!(status.map(Status::code), Some(Code::DeadlineExceeded), "{error:?}");
    }
}
