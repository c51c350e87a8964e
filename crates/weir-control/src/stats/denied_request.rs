//! `GET /tenants/{tenant}/stats/denials/{request_id}`

use std::collections::{BTreeMap, BTreeSet, HashMap};

use axum::extract::State;
use futures_util::future::try_join_all;
use weir_domain::id::{RequestId, RuleId, TenantId};
use weir_domain::overrides::override_keys;
use weir_domain::subject::SHOWN_VALUE_CHARS_MAX;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::{
    DENIALS_DAYS, DENIALS_PER_SECOND, DenialRow, Page, Retention, RevisionRow, RuleFilter, RuleRow,
    Tx,
};
use weir_wire::problem::ErrorCode;
use weir_wire::stats::{DeniedRequest, ExplainedDenial, OF_REQUEST_MAX, REVISIONS_SINCE_MAX};
use weir_wire::subjects::SubjectOfRule;

use crate::actor::{By, InNamespaces, Viewer};
use crate::audit::revision;
use crate::error::ControlError;
use crate::rule_service::{CheckedRule, Exceptions, subject_digest, subject_of, subject_values};
use crate::state::ControlState;
use crate::stats::denials::entry;
use crate::subjects::inspect::of_namespace;

/// Explain the denials of one request: the rule and its counters then and now, and what changed since.
#[utoipa::path(get, path = "/tenants/{tenant}/stats/denials/{request_id}", operation_id = "stats_denied_request", tag = "stats",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("request_id" = String, Path, description = "The `x-request-id` of an answer of a gate: `req_…`"),
    ),
    responses(
        (status = 200, description = "The denials of the request", body = DeniedRequest),
        (status = 404, description = "The log has no denial of the request"),
    ))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Path((_, request_id)): Path<(String, String)>,
) -> Result<Json<DeniedRequest>, ControlError> {
    let request_id: RequestId = request_id
        .parse()
        .map_err(|invalid| Problem::invalid_field("request_id", format!("{invalid}")))?;
    let tenant_id = caller.tenant_id;
    let only = caller.namespaces.only();
    let mut tx = control.reading("stats.denied_request", &caller).await?;
    let rows = tx.denials().of_request(tenant_id, request_id, only, OF_REQUEST_MAX).await?;
    if rows.is_empty() {
        return Err(not_in_the_log().into());
    }
    let rules = Rules::of(&mut tx, tenant_id, only, &rows, control.clock.now()).await?;
    drop(tx);
    let explained = rows.into_iter().map(|row| explained(&control, &rules, row));
    // At once: if Redis does not answer, the time of one is the time of all.
    let data = try_join_all(explained).await?;
    Ok(Json(DeniedRequest { request_id: request_id.to_string(), data }))
}

/// The problem that names every reason why the log has no entry. It is the same for a request of another tenant.
fn not_in_the_log() -> Problem {
    let entries_max = Retention::default().denials_max;
    let detail = format!(
        "the log of denials has no entry of this request: no rule of this tenant denied it, or it was denied more than \
         {DENIALS_DAYS} days ago, or within the last seconds, or its entry was not kept (each gate keeps up to \
         {DENIALS_PER_SECOND} denials of a tenant per second, chosen at random, and a tenant has up to {entries_max} entries), \
         or the tenant's ceiling of checks per second denied it, which is not logged"
    );
    Problem::new(ErrorCode::NotFound, detail)
}

/// The present rules of some denials.
struct Rules {
    rows: HashMap<RuleId, RuleRow>,
    /// The overrides and plans that can apply to the subjects of the denials.
    exceptions: Exceptions,
    /// The newest revisions of each rule.
    revisions: HashMap<RuleId, Vec<RevisionRow>>,
}

impl Rules {
    async fn of(
        tx: &mut Tx,
        tenant_id: TenantId,
        only: Option<&[String]>,
        denials: &[DenialRow],
        now: Timestamp,
    ) -> Result<Self, ControlError> {
        let ids: BTreeSet<RuleId> = denials.iter().map(|denial| denial.rule_id).collect();
        let filter = RuleFilter {
            namespaces: only.map(<[String]>::to_vec),
            search: None,
            ids: Some(ids.into_iter().collect()),
            has: None,
        };
        let page = Page { limit: OF_REQUEST_MAX, after: None };
        let listed = tx.rules().list(tenant_id, &filter, &page).await?.items;
        let rows: HashMap<RuleId, RuleRow> = listed.into_iter().map(|row| (row.id, row)).collect();
        let mut keys = Vec::new();
        for denial in denials {
            if let Some(Ok(rule)) = rows.get(&denial.rule_id).map(CheckedRule::stored) {
                let subject = subject_of(denial.subject.clone());
                let Ok(values) = subject_values(&rule.rule, &subject) else { continue };
                let digests = override_keys(&rule.rule, &values).into_iter().map(subject_digest);
                keys.extend(digests.map(|digest| (denial.rule_id, digest)));
            }
        }
        let exceptions = Exceptions::from(tx.overrides().of_keys(tenant_id, &keys).await?);
        let subjects = denials.iter().map(|denial| subject_of(denial.subject.clone()));
        let customers = |name: &str| subjects.filter_map(|one| one.get(name).cloned()).collect();
        let exceptions = exceptions.with_plans(tx, tenant_id, now, customers).await?;
        let mut revisions = HashMap::new();
        for id in rows.keys() {
            let page = Page { limit: REVISIONS_SINCE_MAX, after: None };
            revisions.insert(*id, tx.rules().revisions(tenant_id, *id, &page).await?.items);
        }
        Ok(Self { rows, exceptions, revisions })
    }
}

async fn explained(
    control: &ControlState,
    rules: &Rules,
    denial: DenialRow,
) -> Result<ExplainedDenial, ControlError> {
    let detail = denial.detail.clone();
    let present = rules.rows.get(&denial.rule_id);
    let (now, now_unknown) = match subject_now(present, &subject_of(denial.subject.clone())) {
        Err(reason) => (None, Some(reason)),
        Ok((row, subject)) => (now(control, &denial, row, rules, &subject).await?, None),
    };
    let is_later = |row: &&RevisionRow| match detail.rule_revision {
        Some(then) => row.revision > then,
        None => row.at > denial.at,
    };
    let revisions = rules.revisions.get(&denial.rule_id).into_iter().flatten().filter(is_later);
    let revisions = revisions.cloned().map(revision).collect();
    let limits = serde_json::from_value(detail.limits).map_err(Problem::internal)?;
    Ok(ExplainedDenial {
        denial: entry(denial),
        trace_id: detail.trace_id.map(|id| format!("{id:032x}")),
        rule_revision: detail.rule_revision,
        limits,
        override_id: detail.override_id.map(|id| id.to_string()),
        also_denied_by: detail.also_denied_by,
        present_revision: present.map(|row| row.revision),
        now,
        now_unknown,
        revisions,
    })
}

/// The present state of the subject of a denial.
async fn now(
    control: &ControlState,
    denial: &DenialRow,
    row: &RuleRow,
    rules: &Rules,
    subject: &BTreeMap<String, String>,
) -> Result<Option<SubjectOfRule>, ControlError> {
    let rows = std::slice::from_ref(row);
    let read = of_namespace(control, denial.tenant_id, rows, &rules.exceptions, subject).await?;
    Ok(read.into_iter().next())
}

/// The present rule with the subject of a denial, or the reason why it does not count this subject.
fn subject_now<'r>(
    row: Option<&'r RuleRow>,
    subject: &BTreeMap<String, String>,
) -> Result<(&'r RuleRow, BTreeMap<String, String>), String> {
    let Some(row) = row else { return Err("The rule was deleted.".to_owned()) };
    let Ok(CheckedRule { rule, .. }) = CheckedRule::stored(row) else {
        return Err("This release cannot read the rule.".to_owned());
    };
    // A value of this length was possibly longer.
    if subject.values().any(|value| value.chars().count() >= SHOWN_VALUE_CHARS_MAX) {
        let detail = "The log has the first {MAX} characters of each value, so the counter of a longer one is unknown.";
        return Err(detail.replace("{MAX}", &SHOWN_VALUE_CHARS_MAX.to_string()));
    }
    if subject_values(&rule, subject).is_err() {
        return Err("The rule counts by other attributes now.".to_owned());
    }
    Ok((row, subject.clone()))
}
