//! The caller: an API key, looked up in the rulebook in memory.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use std::sync::Arc;
use std::time::Duration;
use weir_domain::api_key::{KeyDigest, Scope};
use weir_domain::id::{KeyId, TenantId};
use weir_domain::rulebook::Rulebook;
use weir_domain::time::Timestamp;
use weir_http::bearer::credential;
use weir_http::problem::Problem;
use weir_http::request_id::RequestId;
use weir_redis::limiter::CallOptions;
use weir_trace::RequestSpan;

use crate::metrics::refused_callers::Interface;
use crate::state::GateState;

/// A caller with the scope `check`, and the rulebook that holds the key. The whole request uses this version.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) tenant: TenantId,
    pub(crate) key: KeyId,
    pub(crate) book: Arc<Rulebook>,
    /// The time of the request.
    pub(crate) at: Timestamp,
    /// The id of the request, which its answer has. `None` for the checks of deferred jobs and other work of the gate itself.
    pub(crate) request_id: Option<RequestId>,
    /// The longest wait for Redis, if the caller expects an answer sooner than others.
    pub(crate) wait_max: Option<Duration>,
    /// The span of the request, if it is traced.
    pub(crate) span: Option<RequestSpan>,
}

impl FromRequestParts<GateState> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &GateState) -> Result<Self, Problem> {
        let caller = Self::rulebook(state)
            .and_then(|book| Self::of_secret(state, book, credential(&parts.headers, &parts.uri)?));
        let caller = caller.inspect_err(|problem| {
            state.meters.refused_caller(Interface::Check, problem.code());
        })?;
        let caller = Self { request_id: parts.extensions.get().copied(), ..caller };
        Ok(caller.traced(state, &parts.headers, || {
            // No path of an operation with a caller has parameters.
            format!("{} {}", parts.method, parts.uri.path())
        }))
    }
}

/// A caller with the scope `exhaust`.
#[derive(Debug, Clone)]
pub(crate) struct Exhauster(pub(crate) Caller);

impl FromRequestParts<GateState> for Exhauster {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &GateState) -> Result<Self, Problem> {
        let book = Caller::rulebook(state)?;
        let secret = credential(&parts.headers, &parts.uri)?;
        Caller::with_scope(state, book, secret, Scope::Exhaust).map(Self)
    }
}

impl Caller {
    /// The rulebook in force, if checks can be answered by it.
    pub(crate) fn rulebook(state: &GateState) -> Result<Arc<Rulebook>, Problem> {
        let Some(book) = state.held.current() else {
            return Err(Problem::unavailable("the rulebook has not been loaded yet"));
        };
        if state.held.refuses() {
            return Err(Problem::unavailable(
                "the rulebook is older than WEIR_RULEBOOK_MAX_AGE_S and may be out of date",
            ));
        }
        Ok(book)
    }

    /// The caller who presents this key.
    pub(crate) fn of_secret(
        state: &GateState,
        book: Arc<Rulebook>,
        secret: &str,
    ) -> Result<Self, Problem> {
        Self::with_scope(state, book, secret, Scope::Check)
    }

    fn with_scope(
        state: &GateState,
        book: Arc<Rulebook>,
        secret: &str,
        scope: Scope,
    ) -> Result<Self, Problem> {
        let digest = KeyDigest::of_presented(secret).ok_or_else(Problem::unauthenticated)?;
        let at = state.clock.now();
        let caller = book.caller(&digest, at).ok_or_else(Problem::unauthenticated)?;
        if !caller.key.scopes.contains(&scope) {
            let detail = format!("this key lacks the scope `{}`", scope.as_str());
            return Err(Problem::forbidden(detail));
        }
        let tenant = caller.tenant;
        let key = caller.key.id;
        Ok(Self { tenant, key, book, at, request_id: None, wait_max: None, span: None })
    }

    /// The caller with the span of the request, if its headers continue a trace.
    pub(crate) fn traced(
        self,
        state: &GateState,
        headers: &HeaderMap,
        name: impl FnOnce() -> String,
    ) -> Self {
        match state.limiter.traces() {
            None => self,
            Some(traces) => Self { span: traces.continued(headers, name), ..self },
        }
    }

    /// How the caller waits for Redis.
    pub(crate) fn call_options(&self) -> CallOptions<'_> {
        CallOptions { wait_max: self.wait_max, span: self.span.as_ref() }
    }
}
