//! `GET /tenants/{tenant}/usage`
//!
//! Redis stores counters under digests of subjects, so they cannot be listed. The sketches of the retained days name the
//! subjects, and the counters have their units.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use axum::extract::State;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use utoipa::IntoParams;
use weir_domain::algorithm::Algorithm;
use weir_domain::calendar;
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::subject::SHOWN_VALUE_CHARS_MAX;
use weir_domain::time::{Micros, Timestamp};
use weir_http::json::Json;
use weir_http::params::Query;
use weir_store::{
    Listing, OverrideRow, Page, RuleFilter, RuleHas, RuleRow, SKETCH_MS, TopFilter, TopSubject, Tx,
    sketch_start,
};
use weir_wire::quota_usage::{QuotaUsage, QuotaUsagePage, USAGE_RULES_MAX, USAGE_SUBJECTS_MAX};
use weir_wire::time::DateTime;

use super::parse_rule;
use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::names;
use crate::rule_service::{
    CheckedRule, RuleSubject, active_rule, inspect, override_digests, spread_by, subject_of,
};
use crate::state::ControlState;

/// The filter and page of the usage.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct QuotaUsageQuery {
    /// The maximum number of subjects. A subject has an entry for each quota of its rule.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Only rules of this namespace.
    namespace: Option<String>,
    /// Only this rule.
    rule_id: Option<String>,
}

/// The sort key of a subject: the namespace and the name of the rule, the begin of the subject as a text, and a digest of it.
type Key = (String, String, String, String);

/// The most bytes of a subject in a cursor.
const KEY_BYTES_MAX: usize = 60;

/// A subject of a quota rule.
struct Counted {
    key: Key,
    /// The place of the rule among the quota rules.
    rule: usize,
    subject: BTreeMap<String, String>,
    denied: Option<u64>,
}

const DAY_MS: i64 = 86_400_000;

/// The units that subjects have used of their quotas in the present period, by namespace, rule and subject.
///
/// The units are those of the counters. The subjects are those that the statistics of the retained days name, whose values are
/// shorter than 128 characters and that no override allows or denies without a limit. Earlier periods are not stored.
#[utoipa::path(get, path = "/tenants/{tenant}/usage", operation_id = "usage_list", tag = "stats",
    params(("tenant" = String, Path, description = "`tenant_…`"), QuotaUsageQuery),
    responses((status = 200, description = "The usage", body = QuotaUsagePage)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<QuotaUsageQuery>,
) -> Result<Json<QuotaUsagePage>, ControlError> {
    let (tenant_id, now) = (caller.tenant_id, control.clock.now());
    let namespaces = caller.namespaces.filter(names::namespace_filter(query.namespace)?)?;
    let rule_id = parse_rule(query.rule_id)?;
    let of = ["usage", &tenant_id.to_string(), &format!("{namespaces:?} {rule_id:?}")];
    let list = List::new(&of, ListQuery { limit: query.limit, cursor: query.cursor })?;
    let page = list.page(|key: Key| Some(key))?;
    let filter = RuleFilter {
        namespaces: namespaces.clone(),
        ids: rule_id.map(|id| vec![id]),
        has: Some(RuleHas::Quota),
        search: None,
    };
    let days_ms = i64::from(control.settings.retention.minutes_days) * DAY_MS;
    let from = sketch_start(now.plus_ms(-days_ms));
    let top = TopFilter {
        tenant_id,
        rule_id,
        namespaces,
        from,
        to: now.plus_ms(SKETCH_MS),
        most_asked_first: true,
        limit: USAGE_SUBJECTS_MAX,
    };
    let mut tx = control.reading("stats.usage", &caller).await?;
    let every = Page { limit: USAGE_RULES_MAX, after: None };
    let rules = tx.rules().list(tenant_id, &filter, &every).await?;
    let (known, error_at_most) = tx.top_subjects().list(&top).await?;
    let most = usize::try_from(USAGE_SUBJECTS_MAX).unwrap_or(usize::MAX);
    let truncated = rules.more || known.counts.len() >= most;
    let listing = listed(counted(&rules.items, known.counts), &page);
    let overrides = overrides(&mut tx, tenant_id, &rules.items, &listing.items).await?;
    drop(tx);
    let of_namespaces = listing.items.chunk_by(|one, other| one.key.0 == other.key.0);
    let mut data = Vec::new();
    for counted in of_namespaces {
        data.extend(used(&control, &rules.items, counted, &overrides, now).await?);
    }
    let page = list.answer(listing, |last| last.key.clone(), |_| ());
    Ok(Json(QuotaUsagePage {
        data,
        next_cursor: page.next_cursor,
        subjects_from: from.into(),
        error_at_most,
        truncated,
    }))
}

/// The subjects of the quota rules. A rule that counts by no attribute has one, which needs no statistics.
fn counted(rules: &[RuleRow], known: Vec<TopSubject>) -> Vec<Counted> {
    let entry = |(at, subject, denied): (usize, BTreeMap<String, String>, Option<u64>)| {
        let row = &rules[at];
        let values = subject.iter().map(|(name, value)| format!("{name} {value}"));
        let text = values.collect::<Vec<_>>().join(", ");
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let begin = text[..text.floor_char_boundary(KEY_BYTES_MAX)].to_owned();
        let key = (row.namespace.clone(), row.name.clone(), begin, hex::encode(&digest[..8]));
        Counted { key, rule: at, subject, denied }
    };
    let places: HashMap<RuleId, usize> =
        rules.iter().enumerate().map(|(at, row)| (row.id, at)).collect();
    let of_all = |row: &RuleRow| {
        CheckedRule::stored(row).is_ok_and(|checked| checked.rule.count_by().is_empty())
    };
    let whole = rules.iter().enumerate().filter(|(_, row)| of_all(row));
    let whole = whole.map(|(at, _)| (at, BTreeMap::new(), None));
    let named = known.into_iter().filter_map(|top| {
        let at = *places.get(&top.entry.rule_id)?;
        let subject = subject_of(top.entry.subject);
        let whole = |value: &String| value.chars().count() < SHOWN_VALUE_CHARS_MAX;
        let complete = !subject.is_empty() && subject.values().all(whole);
        complete.then_some((at, subject, Some(top.entry.denied)))
    });
    named.chain(whole).map(entry).collect()
}

/// The subjects of the page, in their order.
fn listed(mut all: Vec<Counted>, page: &Page<Key>) -> Listing<Counted> {
    all.sort_by(|one, other| one.key.cmp(&other.key));
    if let Some(after) = &page.after {
        all.retain(|counted| counted.key.cmp(after) == Ordering::Greater);
    }
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let more = all.len() > limit;
    all.truncate(limit);
    Listing { items: all, more }
}

/// The overrides that can apply to these subjects.
async fn overrides(
    tx: &mut Tx,
    tenant_id: TenantId,
    rules: &[RuleRow],
    counted: &[Counted],
) -> Result<Vec<OverrideRow>, ControlError> {
    let mut keys = Vec::new();
    for of_rule in by_rule(counted) {
        let row = &rules[of_rule[0].rule];
        let Ok(checked) = CheckedRule::stored(row) else { continue };
        let digests = |counted: &Counted| override_digests(&checked.rule, &counted.subject);
        keys.extend(of_rule.iter().flat_map(digests).map(|digest| (row.id, digest)));
    }
    Ok(tx.overrides().of_keys(tenant_id, &keys).await?)
}

fn by_rule(counted: &[Counted]) -> impl Iterator<Item = &[Counted]> {
    counted.chunk_by(|one, other| one.rule == other.rule)
}

/// The entries of subjects of one namespace. A rule that cannot be read has none, nor has a subject that its rule cannot count
/// any more.
async fn used(
    control: &ControlState,
    rules: &[RuleRow],
    counted: &[Counted],
    overrides: &[OverrideRow],
    now: Timestamp,
) -> Result<Vec<QuotaUsage>, ControlError> {
    let mut charges: Vec<(&Counted, RuleCharge)> = Vec::new();
    for of_rule in by_rule(counted) {
        let row = &rules[of_rule[0].rule];
        if CheckedRule::stored(row).is_err() {
            continue;
        }
        let active = active_rule(row, overrides)?;
        let charge = |counted: &Counted| {
            let rule = (active.clone(), spread_by(row));
            RuleSubject::new(rule, &counted.subject, now).ok()?.charge()
        };
        charges.extend(of_rule.iter().filter_map(|counted| Some((counted, charge(counted)?))));
    }
    let Some(row) = counted.first().map(|counted| &rules[counted.rule]) else {
        return Ok(Vec::new());
    };
    let parts = charges.iter().map(|(_, charge)| std::slice::from_ref(charge));
    let read = inspect(&control.limiter, row.tenant_id, &row.namespace, 1, parts).await?;
    let entries = charges.iter().zip(read).flat_map(|((counted, charge), (decided, decisions))| {
        let limits = charge.limits().iter().zip(decisions);
        limits.filter_map(move |(limit, decision)| {
            entry(&rules[counted.rule], counted, &limit.algorithm, decision, decided)
        })
    });
    Ok(entries.collect())
}

/// The entry of one limit, if it is a quota.
fn entry(
    row: &RuleRow,
    counted: &Counted,
    algorithm: &Algorithm,
    decision: Decision,
    decided: Micros,
) -> Option<QuotaUsage> {
    let Algorithm::Quota(quota) = algorithm else { return None };
    let periods = calendar::bounds(quota, decided);
    // After its end, a quota has nothing left, whatever was used.
    if periods.limit == 0 {
        return None;
    }
    let bound = |at: usize| -> Option<DateTime> {
        (!periods.never_renews()).then(|| Micros(periods.bounds_us[at]).timestamp().into())
    };
    Some(QuotaUsage {
        rule_id: row.id.to_string(),
        namespace: row.namespace.clone(),
        rule: row.name.clone(),
        subject: counted.subject.clone(),
        period: quota.calendar().period.into(),
        from: bound(1),
        to: bound(2),
        used: quota.limit().saturating_sub(decision.remaining),
        limit: quota.limit(),
        denied: counted.denied,
    })
}
