//! `GET /tenants/{tenant}/rules/{rule}/segments`

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use weir_domain::id::RuleId;
use weir_domain::matching::subject_key;
use weir_domain::rule::Segment;
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_store::{DeniedSubject, RuleRow, TallyFilter, Tx};
use weir_wire::stats::{RuleSegments, SUBJECTS_COUNTED_MAX, SegmentCounts, SegmentKind};

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::experiment::{DeniedSubjects, METHOD, compare};
use crate::rule_service::{Exceptions, active_rule, subject_of};
use crate::state::ControlState;
use crate::stats::range::RequestedRange;
use crate::stats::summary::{HOURS_H, MINUTES_H};
use crate::stats::{TimeQuery, counts};

/// The decisions of a rule by variant, by enforced and shadow subjects, and by class.
#[utoipa::path(get, path = "/tenants/{tenant}/rules/{rule}/segments", operation_id = "rules_segments",
    tag = "stats",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("rule" = String, Path, description = "`rule_…`"),
        TimeQuery,
    ),
    responses((status = 200, description = "The segments of the rule as it is now", body = RuleSegments)))]
pub(crate) async fn segments(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Path((_, rule)): Path<(String, String)>,
    Query(time): Query<TimeQuery>,
) -> Result<Json<RuleSegments>, ControlError> {
    let rule_id: RuleId = rule.parse().map_err(|_| Problem::not_found())?;
    let asked = RequestedRange::new(time, control.clock.now(), control.settings.retention)?;
    let range = asked.whole(MINUTES_H, HOURS_H);
    let tenant_id = caller.tenant_id;
    let mut tx = control.reading("stats.segments", &caller).await?;
    let found = tx.rulebook().rule(tenant_id, rule_id).await?;
    let (row, overrides) = found.ok_or_else(Problem::not_found)?;
    let exceptions = Exceptions::from(overrides);
    let rule = active_rule(&row, &exceptions)?;
    caller.namespaces.admit(rule.rule.namespace())?;
    let segments = rule.rule.all_segments();
    let filter = TallyFilter { tenant_id, rule_id: Some(rule_id), namespaces: None, region: None };
    let bounds = [range.from, range.to];
    let whole = tx.tallies().series(&filter, &bounds, range.resolution).await?;
    let ids: Vec<RuleId> = segments.iter().map(|(segment, _)| segment.id(rule_id)).collect();
    let totals = tx.tallies().totals(tenant_id, &ids, range).await?;
    let oldest = tx.denials().oldest(tenant_id).await?;
    // Before its last edit the rule may have had other segments.
    let since = range.from.max(row.updated_at).min(range.to);
    let subjects_from = oldest.map_or(since, |oldest| oldest.max(since)).min(range.to);
    let limit = u32::try_from(SUBJECTS_COUNTED_MAX).unwrap_or(u32::MAX);
    let time = (subjects_from, range.to);
    let denied = tx.denials().subjects(tenant_id, rule_id, time, limit).await?;
    let rule = with_plans(&mut tx, &row, exceptions, &denied, control.clock.now()).await?;
    let subjects_complete =
        denied.len() < SUBJECTS_COUNTED_MAX && denied.iter().all(|subject| subject.complete);
    let subjects = subjects_by_segment(&rule, denied, control.clock.now());
    let mut first = None;
    let data = segments.iter().map(|(segment, percent)| {
        let (kind, name) = named(segment);
        let own = counts(&totals.get(&segment.id(rule_id)).copied().unwrap_or_default());
        let subjects_denied =
            percent.map(|_| subjects.get(&segment.id(rule_id)).copied().unwrap_or_default());
        let denied = DeniedSubjects {
            subjects: f64::from(subjects_denied.unwrap_or_default()),
            percent: percent.and_then(|percent| u32::try_from(percent).ok()).map_or(0.0, f64::from),
        };
        let compared = match (kind, first) {
            (SegmentKind::Variant, None) => {
                first = Some(denied);
                None
            }
            (SegmentKind::Variant, Some(first)) => compare(first, denied),
            _ => None,
        };
        SegmentCounts {
            kind,
            name: name.map(str::to_owned),
            percent: *percent,
            counts: own,
            subjects_denied: subjects_denied.map(u64::from),
            compared,
        }
    });
    Ok(Json(RuleSegments {
        from: range.from.into(),
        to: range.to.into(),
        data: data.collect(),
        subjects_from: subjects_from.into(),
        subjects_complete,
        method: METHOD.to_owned(),
        as_of: whole.as_of.into(),
        dropped: whole.dropped,
    }))
}

/// The rule with the plans of these subjects.
async fn with_plans(
    tx: &mut Tx,
    row: &RuleRow,
    exceptions: Exceptions,
    denied: &[DeniedSubject],
    now: Timestamp,
) -> Result<Arc<ActiveRule>, ControlError> {
    let customers = |name: &str| {
        let subjects = denied.iter().map(|denied| subject_of(denied.subject.clone()));
        subjects.filter_map(|subject| subject.get(name).cloned()).collect()
    };
    let exceptions = exceptions.with_plans(tx, row.tenant_id, now, customers).await?;
    Ok(active_rule(row, &exceptions)?)
}

/// The number of denied subjects in each segment of subjects, by its id. One with an override or a plan belongs to none.
fn subjects_by_segment(
    rule: &ActiveRule,
    denied: Vec<DeniedSubject>,
    now: Timestamp,
) -> HashMap<RuleId, u32> {
    let mut subjects: HashMap<RuleId, u32> = HashMap::new();
    for DeniedSubject { subject, shadow, .. } in denied {
        let values = subject_of(subject);
        let value = |name: &str| values.get(name).map(String::as_str);
        let Ok(values) = rule.rule.subject_values(value) else { continue };
        if rule.overrides.find(&rule.rule, &values, now).is_some() {
            continue;
        }
        let key = subject_key(rule.rule.count_by(), &values);
        let segment = match rule.rule.variant_of(rule.id, key) {
            Some(name) => Segment::Variant(name),
            None if shadow => Segment::Shadow,
            None => Segment::Enforced,
        };
        *subjects.entry(segment.id(rule.id)).or_default() += 1;
    }
    subjects
}

fn named<'r>(segment: &Segment<'r>) -> (SegmentKind, Option<&'r str>) {
    match segment {
        Segment::Variant(name) => (SegmentKind::Variant, Some(name)),
        Segment::Enforced => (SegmentKind::Enforced, None),
        Segment::Shadow => (SegmentKind::Shadow, None),
        Segment::Class(name) => (SegmentKind::Class, Some(name)),
        Segment::OtherClasses => (SegmentKind::OtherClasses, None),
        Segment::NoClass => (SegmentKind::NoClass, None),
    }
}
