//! `GET /tenants/{tenant}/subjects/near-limit`
//!
//! Redis stores counters under digests of subjects, so they cannot be listed. As for alerts about quotas, the sketches of the last
//! hour give the subjects to inspect, busiest first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::extract::State;
use futures_util::future::try_join_all;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_domain::alert::reached;
use weir_domain::draft::Mode;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_store::{OverrideRow, Page, RuleFilter, RuleRow, SKETCH_MS, TopFilter, Tx, sketch_start};
use weir_wire::check::LimitAnswer;
use weir_wire::limits::AlgorithmName;
use weir_wire::subjects::{NEAR_LIMIT_SUBJECTS_MAX, NearLimit, NearLimitAnswer};

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::names;
use crate::rule_service::{
    CheckedRule, Exceptions, RuleSubject, active_rule, limits_of, override_digests, spread_by,
    subject_of,
};
use crate::state::ControlState;
use crate::stats::parse_rule;

const HOUR_MS: i64 = 3_600_000;
const PERCENT_DEFAULT: u8 = 80;

/// The subjects to inspect, and the share.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct NearLimitQuery {
    /// Only subjects of this rule.
    rule_id: Option<String>,
    /// Only subjects of the rules of this namespace.
    namespace: Option<String>,
    /// The least used share of a limit, in percent.
    #[param(minimum = 1, maximum = 100, default = 80)]
    percent: Option<u8>,
}

type Subject = BTreeMap<String, String>;

/// List the subjects that have used most of a limit. The busiest subjects of the last hour are inspected, at most 200; nothing is
/// counted. Spacing is left out, because each check uses all of it. A rule with one counter for all requests is inspected if
/// `rule_id` names it.
#[utoipa::path(get, path = "/tenants/{tenant}/subjects/near-limit", operation_id = "subjects_near_limit", tag = "subjects",
    params(("tenant" = String, Path, description = "`tenant_…`"), NearLimitQuery),
    responses((status = 200, description = "The subjects, the greatest share first", body = NearLimitAnswer)))]
pub(crate) async fn near_limit(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<NearLimitQuery>,
) -> Result<Json<NearLimitAnswer>, ControlError> {
    let percent = query.percent.unwrap_or(PERCENT_DEFAULT);
    if !(1..=100).contains(&percent) {
        return Err(Problem::invalid_field("percent", "must be from 1 to 100").into());
    }
    let tenant_id = caller.tenant_id;
    let rule_id = parse_rule(query.rule_id)?;
    let namespaces = caller.namespaces.filter(names::namespace_filter(query.namespace)?)?;
    let now = control.clock.now();
    let filter = TopFilter {
        tenant_id,
        rule_id,
        namespaces: namespaces.clone(),
        from: sketch_start(now.plus_ms(-HOUR_MS)),
        to: now.plus_ms(SKETCH_MS),
        most_asked_first: true,
        limit: NEAR_LIMIT_SUBJECTS_MAX + 1,
    };
    let mut tx = control.reading("subjects.near_limit", &caller).await?;
    let (counted, floor) = tx.top_subjects().list(&filter).await?;
    let most = usize::try_from(NEAR_LIMIT_SUBJECTS_MAX).unwrap_or(usize::MAX);
    let mut complete = counted.counts.len() <= most && floor == 0 && counted.dropped == 0;
    let mut subjects: HashMap<RuleId, Vec<Subject>> = HashMap::new();
    for top in counted.counts.into_iter().take(most) {
        subjects.entry(top.entry.rule_id).or_default().push(subject_of(top.entry.subject));
    }
    let mut rows = if let Some(rule_id) = rule_id {
        let missing = || Problem::invalid_field("rule_id", "is not a rule of this tenant");
        let row = tx.rules().find(tenant_id, rule_id).await?.ok_or_else(missing)?;
        caller.namespaces.admit(&row.namespace)?;
        if CheckedRule::stored(&row)?.rule.count_by().is_empty() {
            subjects = HashMap::from([(rule_id, vec![Subject::new()])]);
            complete = true;
        }
        vec![row]
    } else {
        let ids = Some(subjects.keys().copied().collect());
        let filter = RuleFilter { namespaces, ids, ..RuleFilter::default() };
        let page = Page { limit: NEAR_LIMIT_SUBJECTS_MAX, after: None };
        tx.rules().list(tenant_id, &filter, &page).await?.items
    };
    // A rule that is off counts nothing. The list of rules shows unreadable rules as such.
    rows.retain(|row| {
        CheckedRule::stored(row).is_ok_and(|checked| checked.rule.mode() != Mode::Off)
    });
    let exceptions = Exceptions::from(overrides(&mut tx, tenant_id, &rows, &subjects).await?);
    let customers =
        |name: &str| subjects.values().flatten().filter_map(|one| one.get(name).cloned()).collect();
    let exceptions = exceptions.with_plans(&mut tx, tenant_id, now, customers).await?;
    drop(tx);
    let by_namespace = rows.chunk_by(|one, other| one.namespace == other.namespace);
    let read = by_namespace.map(|rows| of_namespace(&control, rows, &exceptions, &subjects, now));
    let read: Vec<_> = try_join_all(read).await?.into_iter().flatten().collect();
    let inspected = u32::try_from(read.len()).unwrap_or(u32::MAX);
    let mut near: Vec<_> = read
        .into_iter()
        .filter_map(|(subject, limits)| fullest(subject, limits, percent))
        .collect();
    near.sort_by_key(|(used, _)| Reverse(*used));
    Ok(Json(NearLimitAnswer {
        data: near.into_iter().map(|(_, near)| near).collect(),
        inspected,
        complete,
        from: filter.from.into(),
        as_of: counted.as_of.into(),
    }))
}

/// The overrides that can apply to these subjects of rules.
async fn overrides(
    tx: &mut Tx,
    tenant_id: TenantId,
    rows: &[RuleRow],
    subjects: &HashMap<RuleId, Vec<Subject>>,
) -> Result<Vec<OverrideRow>, ControlError> {
    let mut keys = Vec::new();
    for row in rows {
        let rule = CheckedRule::stored(row)?.rule;
        for subject in subjects.get(&row.id).into_iter().flatten() {
            // The rule can count by other attributes than an hour ago.
            let digests = override_digests(&rule, subject).into_iter();
            keys.extend(digests.map(|digest| (row.id, digest)));
        }
    }
    Ok(tx.overrides().of_keys(tenant_id, &keys).await?)
}

/// The limits of the subjects of these rules, which are of one namespace.
async fn of_namespace(
    control: &ControlState,
    rows: &[RuleRow],
    exceptions: &Exceptions,
    subjects: &HashMap<RuleId, Vec<Subject>>,
    now: Timestamp,
) -> Result<Vec<(RuleSubject, Vec<LimitAnswer>)>, ControlError> {
    let mut inspected = Vec::new();
    for row in rows {
        let active: Arc<ActiveRule> = active_rule(row, exceptions)?;
        let subjects = subjects.get(&row.id).into_iter().flatten();
        inspected.extend(subjects.filter_map(|subject| {
            RuleSubject::new((Arc::clone(&active), spread_by(row)), subject, now).ok()
        }));
    }
    let (tenant, namespace) = (rows[0].tenant_id, &rows[0].namespace);
    let limits = limits_of(control, tenant, namespace, &inspected).await;
    let both = inspected.into_iter().zip(limits);
    both.map(|(subject, limits)| Ok((subject, limits?.limits))).collect()
}

/// The limit of which the greatest share is used, with the share in millionths. `None` if it is less than `percent`.
fn fullest(
    subject: RuleSubject,
    limits: Vec<LimitAnswer>,
    percent: u8,
) -> Option<(u128, NearLimit)> {
    let used =
        |limit: &LimitAnswer| limit.limit.saturating_sub(limit.remaining.unwrap_or(limit.limit));
    let share = |limit: &LimitAnswer| u128::from(used(limit)) * 1_000_000 / u128::from(limit.limit);
    let counts = |limit: &LimitAnswer| limit.limit > 0 && limit.algorithm != AlgorithmName::Spacing;
    let limit = limits.into_iter().filter(counts).max_by_key(share)?;
    if reached(&[percent], used(&limit), limit.limit).is_empty() {
        return None;
    }
    let ActiveRule { id, rule, .. } = &*subject.active;
    let near = NearLimit {
        rule_id: id.to_string(),
        rule: rule.name().to_owned(),
        namespace: rule.namespace().to_owned(),
        mode: rule.mode().into(),
        override_id: subject.override_id().map(|id| id.to_string()),
        plan_id: subject.plan_id().map(|id| id.to_string()),
        subject: subject.subject,
        limit,
    };
    Some((share(&near.limit), near))
}
