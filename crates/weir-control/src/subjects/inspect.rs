//! `POST /tenants/{tenant}/subjects/inspect`

use std::collections::{BTreeMap, HashMap};

use axum::extract::State;
use futures_util::future::try_join_all;
use serde_json::Value;
use weir_domain::id::{OverrideId, RuleId, TenantId};
use weir_domain::overrides::override_keys;
use weir_domain::request::{DEFAULT_NAMESPACE, Operation, Request, RequestDraft};
use weir_domain::rule::COUNT_BY_MAX;
use weir_domain::rulebook::ActiveRule;
use weir_domain::subject::shown_value;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{DenialFilter, OverrideRow, Page, RuleRow};
use weir_wire::problem::FieldProblem;
use weir_wire::subjects::{
    InspectSubjectAnswer, InspectSubjectBody, SUBJECT_DENIALS_MAX, SUBJECT_RULES_MAX, SubjectOfRule,
};

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::overrides::override_answer;
use crate::rule_service::{
    CheckedRule, CountersError, Exceptions, RuleSubject, SubjectLimits, active_rule, limits_of,
    spread_by, subject_digest, subject_values,
};
use crate::state::ControlState;
use crate::stats::denials::entry;
use crate::subjects::history::history;

/// Inspect the counters of one subject across all rules that count by its attributes. Conditions are ignored. Nothing is
/// counted. While Redis does not answer, the remaining units of a limit are null.
#[utoipa::path(post, path = "/tenants/{tenant}/subjects/inspect", operation_id = "subjects_inspect", tag = "subjects",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = InspectSubjectBody,
    responses((status = 200, description = "The counters, overrides and denials of the subject", body = InspectSubjectAnswer)))]
pub(crate) async fn inspect(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Json(body): Json<InspectSubjectBody>,
) -> Result<Json<InspectSubjectAnswer>, ControlError> {
    check(&body)?;
    let tenant_id = caller.tenant_id;
    let mut tx = control.reading("subjects.inspect", &caller).await?;
    let names: Vec<String> = body.attributes.keys().cloned().collect();
    let namespaces = caller.namespaces.filter(body.namespace.clone())?;
    let mut rows = tx
        .rules()
        .counting_by(tenant_id, namespaces.as_deref(), &names, SUBJECT_RULES_MAX + 1)
        .await?;
    let most = usize::try_from(SUBJECT_RULES_MAX).unwrap_or(usize::MAX);
    let truncated = rows.len() > most;
    rows.truncate(most);
    // The list of rules shows unreadable rules as such.
    rows.retain(|row| CheckedRule::stored(row).is_ok());
    let Stored { overrides, spellings } = Stored::of(&rows, &body.attributes)?;
    let exceptions = Exceptions::from(tx.overrides().of_keys(tenant_id, &overrides).await?);
    let customers = |name: &str| body.attributes.get(name).cloned().into_iter().collect();
    let now = control.clock.now();
    let exceptions = exceptions.with_plans(&mut tx, tenant_id, now, customers).await?;
    let filter = DenialFilter {
        subject_of: Some(spellings.clone()),
        namespaces,
        ..DenialFilter::of(tenant_id)
    };
    let page = Page { limit: SUBJECT_DENIALS_MAX, after: None };
    let denials = tx.denials().list(&filter, &page).await?;
    let history = if body.history {
        let of_rules = rows.iter().map(|row| row.id).collect();
        Some(history(&mut tx, tenant_id, of_rules, spellings, control.clock.now()).await?)
    } else {
        None
    };
    drop(tx);
    Ok(Json(InspectSubjectAnswer {
        data: states(&control, tenant_id, &rows, &exceptions, &body.attributes).await?,
        truncated,
        denials: denials.counts.items.into_iter().map(entry).collect(),
        as_of: denials.as_of.into(),
        history,
    }))
}

/// Checks the attributes and the namespace as those of a request.
fn check(body: &InspectSubjectBody) -> Result<(), Problem> {
    if !(1..=COUNT_BY_MAX).contains(&body.attributes.len()) {
        let reason = format!("must hold from 1 to {COUNT_BY_MAX} attributes");
        return Err(Problem::invalid_field("attributes", reason));
    }
    let draft = RequestDraft {
        namespace: body.namespace.clone().unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned()),
        attributes: body.attributes.clone(),
        cost: 1,
        operation: Operation::Inspect,
        idempotency_key: None,
    };
    Request::parse(draft).map_err(|wrong| Problem::invalid(FieldProblem::list(wrong)))?;
    Ok(())
}

/// The names under which the subject is stored for some rules.
struct Stored {
    /// The keys under which its overrides can be.
    overrides: Vec<(RuleId, [u8; 32])>,
    /// The subject as it was sent, and in the forms in which the rules count it, as statistics show it.
    spellings: Vec<Value>,
}

impl Stored {
    fn of(rows: &[RuleRow], attributes: &BTreeMap<String, String>) -> Result<Self, ControlError> {
        let shown = |value: &str| Value::from(shown_value(value));
        let sent = attributes.iter().map(|(name, value)| (name.clone(), shown(value)));
        let mut stored =
            Self { overrides: Vec::new(), spellings: vec![Value::Object(sent.collect())] };
        for row in rows {
            let rule = CheckedRule::stored(row)?.rule;
            let subject = subject_of(&rule, attributes);
            let values = subject_values(&rule, &subject)?;
            let keys = override_keys(&rule, &values).into_iter().map(subject_digest);
            stored.overrides.extend(keys.map(|digest| (row.id, digest)));
            let names = rule.count_by().iter().map(|counted| counted.attribute.clone());
            let values = values.iter().map(|value| shown(value));
            let spelling = Value::Object(names.zip(values).collect());
            if !stored.spellings.contains(&spelling) {
                stored.spellings.push(spelling);
            }
        }
        Ok(stored)
    }
}

/// The state of the subject in each rule. The rules are in the order of their namespaces.
async fn states(
    control: &ControlState,
    tenant_id: TenantId,
    rows: &[RuleRow],
    exceptions: &Exceptions,
    attributes: &BTreeMap<String, String>,
) -> Result<Vec<SubjectOfRule>, ControlError> {
    let by_namespace = rows.chunk_by(|one, other| one.namespace == other.namespace);
    let read =
        by_namespace.map(|rows| of_namespace(control, tenant_id, rows, exceptions, attributes));
    // At once: if Redis does not answer, the time of one is the time of all.
    Ok(try_join_all(read).await?.concat())
}

/// The state of the subject in each of these rules of one namespace. If Redis does not answer, what is left of their
/// limits is null.
pub(crate) async fn of_namespace(
    control: &ControlState,
    tenant_id: TenantId,
    rows: &[RuleRow],
    exceptions: &Exceptions,
    attributes: &BTreeMap<String, String>,
) -> Result<Vec<SubjectOfRule>, ControlError> {
    let by_id: HashMap<OverrideId, &OverrideRow> =
        exceptions.overrides.iter().map(|row| (row.id, row)).collect();
    let now = control.clock.now();
    let subject = |row: &RuleRow| -> Result<RuleSubject, ControlError> {
        let active = active_rule(row, exceptions)?;
        let subject = subject_of(&active.rule, attributes);
        Ok(RuleSubject::new((active, spread_by(row)), &subject, now)?)
    };
    let subjects = rows.iter().map(subject).collect::<Result<Vec<_>, _>>()?;
    let namespace = &rows[0].namespace;
    let limits = limits_of(control, tenant_id, namespace, &subjects).await;
    let state = |(subject, limits): (RuleSubject, Result<SubjectLimits, _>)| {
        let SubjectLimits { limits, regions } = match limits {
            Err(CountersError::Unavailable(_)) => {
                SubjectLimits { limits: subject.unread_limits(now), regions: Vec::new() }
            }
            read => read?,
        };
        let exception = subject.override_id().and_then(|id| by_id.get(&id));
        let ActiveRule { id, rule, .. } = &*subject.active;
        Ok(SubjectOfRule {
            rule_id: id.to_string(),
            rule: rule.name().to_owned(),
            namespace: namespace.clone(),
            mode: rule.mode().into(),
            action: subject.action().into(),
            count_by: rule.count_by().iter().cloned().map(Into::into).collect(),
            exception: exception.map(|row| override_answer(row)).transpose()?,
            plan_id: subject.plan_id().map(|id| id.to_string()),
            subject: subject.subject,
            limits,
            regions,
        })
    };
    subjects.into_iter().zip(limits).map(state).collect()
}

/// The attributes that the rule counts by.
fn subject_of(
    rule: &weir_domain::rule::Rule,
    attributes: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let counted = |(name, _): &(&String, &String)| rule.counts_by(name);
    let attributes = attributes.iter().filter(counted);
    attributes.map(|(name, value)| (name.clone(), value.clone())).collect()
}
