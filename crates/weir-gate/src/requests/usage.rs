//! The operation `GET /usage`: the limits of a customer and the units that it has used, for the holder of its token.
//!
//! Nothing of a rule is shown but its name, its description and its limits. A page of another origin can read the answer in a browser
//! if the tenant lists the origin.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::counted::{Counted, Form};
use weir_domain::customers::{CustomerView, Customers};
use weir_domain::decide::Decision;
use weir_domain::draft::{Action, Mode};
use weir_domain::id::KeyId;
use weir_domain::matching::{LIMITS_PER_CHECK_MAX, charge_of};
use weir_domain::overrides::Effect;
use weir_domain::request::Operation;
use weir_domain::rulebook::{ActiveRule, Rulebook, TenantRules};
use weir_domain::time::Micros;
use weir_http::bearer::credential;
use weir_http::json::Json;
use weir_http::params::NoQuery;
use weir_http::problem::Problem;
use weir_http::view_token::{UnverifiedToken, Viewer};
use weir_redis::limiter::{Answer, ScriptCheck};
use weir_wire::customers::{CustomerLimit, CustomerLimits};
use weir_wire::problem::ErrorCode;

use crate::decide;
use crate::decide::tenant_rates::share;
use crate::requests::answer::AnswerTemplate;
use crate::requests::caller::Caller;
use crate::state::GateState;

/// The limits of a customer and what it has used of them, from the counters; an answer is at most a second old.
///
/// The limits are those of the rules that count by the customer attribute alone, without those that the tenant hides and those
/// in shadow mode. The token comes from `POST …/customers/{customer}/view-token` of the admin API.
#[utoipa::path(
    get, path = "/usage", tag = "customers", operation_id = "usage", security(("view_token" = [])),
    responses(
        (status = 200, description = "The limits", body = CustomerLimits),
        (status = 401, description = "The token is not valid, or has expired", content_type = "application/problem+json", body = weir_wire::problem::ProblemBody),
        (status = 429, description = "The tenant exceeds its ceiling of requests", content_type = "application/problem+json", body = weir_wire::problem::ProblemBody),
        (status = 503, description = "Redis did not answer, or no rulebook has been loaded", content_type = "application/problem+json", body = weir_wire::problem::ProblemBody),
    )
)]
pub(crate) async fn usage(
    State(state): State<GateState>,
    axum::Extension(DashboardOrigins(dashboard)): axum::Extension<DashboardOrigins>,
    headers: HeaderMap,
    uri: Uri,
    _: NoQuery,
) -> Response {
    let origin = headers.get(header::ORIGIN);
    let (mut response, allowed) = match viewer(&state, &headers, &uri) {
        // A page can tell a token that has expired from a gate that does not answer.
        Err(problem) => (problem.into_response(), Some(HeaderValue::from_static("*"))),
        Ok(viewed) => {
            let listed = |origin: &&HeaderValue| {
                let mut tenants = viewed.view.origins.iter();
                dashboard.contains(origin) || tenants.any(|own| own.as_bytes() == origin.as_bytes())
            };
            let allowed = origin.filter(listed).cloned();
            (answered(&state, viewed).await.into_response(), allowed)
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    if let Some(allowed) = allowed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        let exposed = HeaderValue::from_static("retry-after, x-request-id");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
    response
}

/// The answer to a browser that asks before it sends a token. It cannot know the tenant yet, so it permits every origin to ask.
pub(crate) async fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (axum::http::StatusCode::NO_CONTENT, headers).into_response()
}

/// The origins of the dashboard, which can read the usage of all customers' tokens.
#[derive(Debug, Clone)]
pub(crate) struct DashboardOrigins(pub(crate) Arc<[HeaderValue]>);

/// A customer whose token is valid, and its tenant.
struct Viewed {
    viewer: Viewer,
    book: Arc<Rulebook>,
    tenant: Arc<TenantRules>,
    customers: Arc<Customers>,
    view: Arc<CustomerView>,
}

fn viewer(state: &GateState, headers: &HeaderMap, uri: &Uri) -> Result<Viewed, Problem> {
    let book = Caller::rulebook(state)?;
    let token = UnverifiedToken::parse(credential(headers, uri)?);
    let token = token.ok_or_else(Problem::unauthenticated)?;
    let tenant = book.tenant(token.tenant()).filter(|tenant| !tenant.state.suspended);
    let tenant = Arc::clone(tenant.ok_or_else(Problem::unauthenticated)?);
    let (Some(customers), Some(view)) =
        (tenant.shared().customers.clone(), tenant.shared().customer_view.clone())
    else {
        return Err(Problem::unauthenticated());
    };
    let viewer = token.verified(&view.keys, state.clock.now());
    let viewer = viewer.ok_or_else(Problem::unauthenticated)?;
    Ok(Viewed { viewer, book, tenant, customers, view })
}

async fn answered(state: &GateState, viewed: Viewed) -> Result<Response, Problem> {
    let Viewed { viewer, book, customers, .. } = &viewed;
    let now = state.monotonic.now();
    let key = customers.key_of(&viewer.customer);
    let key = (viewer.tenant, key, book.tenant_generation(viewer.tenant));
    if let Some(answer) = state.usage_cache.get(key, now) {
        return Ok(Json(&*answer).into_response());
    }
    let per_second = share(book.checks_per_second(viewer.tenant), state.local.live_gates().all);
    let taken = state.tenant_rates.take(viewer.tenant, per_second, 1, now);
    if taken.units == 0 {
        let seconds = u32::try_from(taken.retry_after_ms.div_ceil(1_000)).unwrap_or(u32::MAX);
        let problem = Problem::new(
            ErrorCode::TooManyRequests,
            "the provider of this service exceeds its rate of requests; ask again later",
        );
        return Err(problem.retry_after_s(seconds));
    }
    let answer = Arc::new(counted(state, &viewed).await?);
    state.usage_cache.put(key, now, &answer);
    Ok(Json(&*answer).into_response())
}

/// Reads the counters of the customer in one call.
async fn counted(state: &GateState, viewed: &Viewed) -> Result<CustomerLimits, Problem> {
    let Viewed { viewer, book, tenant, customers, .. } = viewed;
    let charges = charges(state, viewed);
    let caller = Caller {
        tenant: viewer.tenant,
        key: KeyId::from_u128(0),
        book: Arc::clone(book),
        at: state.clock.now(),
        request_id: None,
        wait_max: None,
        span: None,
    };
    let call = |charge| ScriptCheck {
        tenant: viewer.tenant,
        namespace: namespace_of(charge),
        operation: Operation::Inspect,
        cost: 1,
        rules: std::slice::from_ref(charge),
        lease_id: LeaseId::default(),
        idempotency: None,
        charged: None,
    };
    let calls: Vec<_> = charges.iter().map(call).collect();
    let mut at = Micros::from_ms(caller.at.as_millis_u64());
    let mut limits = Vec::new();
    if !calls.is_empty() {
        let read = decide::inspect(state, &calls, &caller).await;
        for (charge, read) in charges.iter().zip(read) {
            let Ok(Answer::Decided(read_at, decisions)) = read else {
                return Err(Problem::unavailable("the counters are temporarily unavailable"));
            };
            at = read_at;
            limits.extend(limits_of(charge, &decisions, book.version(), &caller));
        }
    }
    let plan = customers.plan_of(&viewer.customer, caller.at);
    let plan = plan.and_then(|plan| tenant.shared().plans.get(&plan.plan));
    Ok(CustomerLimits {
        customer: viewer.customer.clone(),
        plan: plan.map(ToString::to_string),
        limits,
        at: at.timestamp().into(),
    })
}

/// The charges of the rules that the customer sees, at most as many as a check can have.
fn charges(state: &GateState, viewed: &Viewed) -> Vec<RuleCharge> {
    let Viewed { viewer, book, tenant, customers, view } = viewed;
    let now = state.clock.now();
    let values = [viewer.customer.as_str()];
    let is_shown = |active: &&Arc<ActiveRule>| {
        let rule = &active.rule;
        let is_named = |(namespace, name): &(String, String)| {
            **name == *rule.name() && *namespace == *rule.namespace()
        };
        rule.action() == Action::Limit
            && rule.mode() != Mode::Off
            && counts_by(rule.count_by(), customers.attribute())
            && !view.hidden_rules.iter().any(is_named)
    };
    let charge = |active: &Arc<ActiveRule>| {
        let namespace = book.namespace(viewer.tenant, active.rule.namespace())?;
        let exception = active.overrides.find(&active.rule, &values, now);
        // Without a limit there is nothing to use up.
        let limits =
            !matches!(exception.map(|found| &found.effect), Some(Effect::Allow | Effect::Deny));
        let charge = limits.then(|| charge_of(active, &namespace.spread_by, &values, exception))?;
        (!charge.is_alone()).then_some(charge)
    };
    let mut left = LIMITS_PER_CHECK_MAX;
    let mut charges = Vec::new();
    for charge in tenant.all_rules().iter().filter(is_shown).filter_map(charge) {
        let Some(rest) = left.checked_sub(charge.limits().len()) else { break };
        left = rest;
        charges.push(charge);
    }
    charges
}

/// Whether a rule counts by this attribute alone, as it is.
fn counts_by(count_by: &[Counted], attribute: &str) -> bool {
    matches!(count_by, [own] if own.attribute == attribute && own.form == Form::Plain)
}

fn namespace_of(charge: &RuleCharge) -> &str {
    charge.active.rule.namespace()
}

fn limits_of<'c>(
    charge: &'c RuleCharge,
    decisions: &'c [Decision],
    version: u64,
    caller: &Caller,
) -> impl Iterator<Item = CustomerLimit> + use<'c> {
    let template = AnswerTemplate::of_charges(std::slice::from_ref(charge), version, caller.at);
    let description = charge.active.rule.description();
    template.limits.into_iter().zip(decisions).map(move |(label, decision)| CustomerLimit {
        rule: label.rule.to_string(),
        description: description.to_owned(),
        algorithm: label.algorithm,
        limit: label.limit,
        used: label.limit.saturating_sub(decision.remaining),
        remaining: decision.remaining,
        reset_after_ms: (label.window_ms > 0).then_some(decision.reset_after_ms),
    })
}
