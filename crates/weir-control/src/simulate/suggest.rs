//! `POST /tenants/{tenant}/rules/suggest`

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use weir_domain::id::RuleId;
use weir_domain::overrides::Overrides;
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::limits::{AlgorithmName, LimitBody};
use weir_wire::rules::RuleBody;
use weir_wire::suggest::{SHARE_DENIED_MAX, SuggestAnswer, SuggestBody};

use super::recorded::{self, RecordedQuery, RecordedTraffic};
use super::run::{HOUR_MS, enter};
use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::state::ControlState;
use choice::Choice;
use demand::{Demand, Demands, Limits};

mod choice;
mod demand;

const DEADLINE: Duration = Duration::from_secs(6);

/// Suggest a limit for a new rule: the smallest with which at most a share of the recorded subjects would have been denied.
///
/// Each check is decided by this limit alone, from counters that begin empty; no real counter changes, and nothing is retained.
#[utoipa::path(post, path = "/tenants/{tenant}/rules/suggest", operation_id = "rules_suggest", tag = "testing",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = SuggestBody,
    responses(
        (status = 200, description = "The limit, its bounds and its alternatives", body = SuggestAnswer),
        (status = 409, description = "The recorded checks do not cover this rule"),
        (status = 429, description = "The tenant has reached its ceiling of concurrent runs"),
        (status = 503, description = "Too many concurrent runs; `Retry-After` states when to retry"),
    ))]
pub(crate) async fn suggest(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Json(body): Json<SuggestBody>,
) -> Result<Json<SuggestAnswer>, ControlError> {
    if !(0.0..=SHARE_DENIED_MAX).contains(&body.share_denied) {
        let reason = format!("must be from 0 to {SHARE_DENIED_MAX}");
        return Err(Problem::invalid_field("share_denied", reason).into());
    }
    let rule = rule(&control, &body)?;
    caller.namespaces.admit(rule.rule.namespace())?;
    let room = enter(&control, caller.tenant_id).await?;
    let now = control.clock.now();
    let to = body.to.map_or(now, |to| to.0.min(now));
    let from = body.from.map_or(to.plus_ms(-HOUR_MS), |from| from.0).max(Timestamp::default());
    if from >= to {
        let reason = "must be before `to`, and before now";
        return Err(Problem::invalid_field("from", reason).into());
    }
    let wanted = RecordedQuery {
        tenant_id: caller.tenant_id,
        candidate: &rule.rule,
        present: None,
        from,
        to,
        warmup_ms: i64::try_from(body.window_ms).unwrap_or(i64::MAX),
    };
    let mut tx = control.reading("samples.find", &caller).await?;
    let found = recorded::find(&mut tx, &wanted).await?;
    drop(tx);
    let running = tokio::task::spawn_blocking(move || {
        let answer = answer(&body, &rule, found, (from, to));
        drop(room);
        answer
    });
    Ok(Json(running.await.map_err(Problem::internal)??))
}

/// The rule whose limit is suggested, with a limit of 1.
fn rule(control: &ControlState, body: &SuggestBody) -> Result<Arc<ActiveRule>, Problem> {
    if body.count_by.is_empty() {
        let reason = "must name an attribute: one counter for all has no subjects";
        return Err(Problem::invalid_field("count_by", reason));
    }
    let rule = RuleBody {
        namespace: body.namespace.clone(),
        name: "suggested".to_owned(),
        conditions: body.conditions.clone(),
        count_by: body.count_by.clone(),
        limits: vec![limit_body(body, 1)?],
        ..RuleBody::default()
    };
    let rule = rule.parse().map_err(|wrong| {
        let outside = wrong.into_iter().map(|mut problem| {
            if let Some(field) = problem.field.strip_prefix("limits[0].") {
                problem.field = field.replace("refill_interval_ms", "window_ms");
                problem.field = problem.field.replace("drain_interval_ms", "window_ms");
            }
            problem
        });
        Problem::invalid(outside.collect())
    })?;
    Ok(Arc::new(ActiveRule::new(control.id(RuleId::new), rule, Overrides::default())))
}

/// A limit of the requested algorithm and window.
fn limit_body(body: &SuggestBody, limit: u64) -> Result<LimitBody, Problem> {
    let window_ms = body.window_ms;
    Ok(match body.algorithm {
        AlgorithmName::FixedWindow => LimitBody::FixedWindow { limit, window_ms },
        AlgorithmName::SlidingWindowLog => {
            LimitBody::SlidingWindowLog { limit, window_ms, count_denied: false }
        }
        AlgorithmName::SlidingWindowCounter => LimitBody::SlidingWindowCounter { limit, window_ms },
        AlgorithmName::TokenBucket => LimitBody::TokenBucket {
            capacity: limit,
            refill_tokens: limit,
            refill_interval_ms: window_ms,
        },
        AlgorithmName::LeakyBucket => LimitBody::LeakyBucket {
            capacity: limit,
            drain_units: limit,
            drain_interval_ms: window_ms,
        },
        AlgorithmName::Spacing | AlgorithmName::Quota | AlgorithmName::Concurrency => {
            let reason = "must have a number of units in a window of milliseconds";
            return Err(Problem::invalid_field("algorithm", reason));
        }
    })
}

/// Computes the suggestion.
fn answer(
    body: &SuggestBody,
    rule: &Arc<ActiveRule>,
    mut found: RecordedTraffic,
    (asked_from, to): (Timestamp, Timestamp),
) -> Result<SuggestAnswer, Problem> {
    let deadline = Instant::now() + DEADLINE;
    let from = asked_from.max(found.since).min(to.plus_ms(-1));
    let mut warnings = std::mem::take(&mut found.warnings);
    if from > asked_from {
        let since = weir_wire::time::DateTime(from).text();
        warnings.push(format!("recording starts at {since}"));
    }
    let (traffic, rate) = found.traffic(rule.rule.namespace())?;
    let demands = Demands::of(&traffic, rule, from);
    let mut limits = Limits::new(|limit| limit_body(body, limit), deadline);
    let mut needed = Vec::with_capacity(demands.subjects.len());
    for demand in &demands.subjects {
        needed.push(limits.needed(demand)?);
    }
    let choice = Choice::new(&needed, body.share_denied, rate)?;
    let candidates = choice.limits().into_iter();
    let candidates = candidates.map(|limit| candidate(&demands, &needed, &mut limits, limit));
    let candidates = candidates.collect::<Result<Vec<_>, _>>()?;
    warnings.extend(choice.warning());
    let subjects = demands.subjects.len() as u64;
    let checks = demands.checks;
    Ok(SuggestAnswer {
        from: from.into(),
        to: to.into(),
        limit: choice.limit,
        body: limit_body(body, choice.limit)?,
        low: choice.low,
        high: choice.high,
        rate,
        subjects,
        checks,
        candidates,
        distribution: choice.distribution(),
        method: choice.method().to_owned(),
        warnings,
    })
}

/// The effect of a limit on the recorded checks.
fn candidate(
    demands: &Demands,
    needed: &[Option<u64>],
    limits: &mut Limits<impl Fn(u64) -> Result<LimitBody, Problem>>,
    limit: u64,
) -> Result<weir_wire::suggest::CandidateLimit, Problem> {
    let denied = |needed: &Option<u64>| needed.is_none_or(|needed| needed > limit);
    let with_needs = || demands.subjects.iter().zip(needed);
    let affected: Vec<&Demand> =
        with_needs().filter(|(_, needed)| denied(needed)).map(|(demand, _)| demand).collect();
    let mut checks_denied = 0;
    for demand in &affected {
        checks_denied += limits.denied(demand, limit)?;
    }
    let subjects_denied = affected.len() as u64;
    Ok(weir_wire::suggest::CandidateLimit {
        limit,
        subjects_denied,
        share_of_subjects: choice::share(subjects_denied, demands.subjects.len() as u64),
        checks_denied,
        share_of_checks: choice::share(checks_denied, demands.checks),
    })
}
