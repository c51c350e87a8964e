//! Recorded checks that a run can use for a rule, and the time from which they are complete.

use std::collections::BTreeMap;

use weir_domain::counted::Counted;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_domain::rule::Rule;
use weir_domain::sample::{self, ALL, SamplePlan};
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{PIECES_AT_ONCE, SampleHead, SamplePiece, SampleSpan, Tx};
use weir_wire::problem::ErrorCode;
use weir_wire::recorded_checks::{RecordedChecks, RecordedPlan};
use weir_wire::simulate::CHECKS_MAX;
use weir_wire::time::DateTime;

use super::traffic::{ReplayedCheck, Traffic};
use crate::error::ControlError;

/// The query for recorded checks.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedQuery<'a> {
    pub(super) tenant_id: TenantId,
    pub(super) candidate: &'a Rule,
    pub(super) present: Option<&'a Rule>,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    pub(super) warmup_ms: i64,
}

/// The recorded checks of a query, in their stored form.
#[derive(Debug)]
pub(super) struct RecordedTraffic {
    pieces: Vec<SamplePiece>,
    /// The highest mark of subjects whose checks are complete.
    threshold: u32,
    /// The time from which all necessary checks are recorded.
    pub(super) since: Timestamp,
    until: Timestamp,
    count_by: Vec<Counted>,
    pub(super) warnings: Vec<String>,
}

/// Finds the recorded checks of a time and of the warm-up before it.
pub(super) async fn find(
    tx: &mut Tx,
    wanted: &RecordedQuery<'_>,
) -> Result<RecordedTraffic, ControlError> {
    let namespace = wanted.candidate.namespace().to_owned();
    let extents = tx.samples().extents(wanted.tenant_id).await?;
    let oldest =
        extents.iter().find(|extent| extent.namespace == namespace).map(|extent| extent.since);
    let Some(oldest) = oldest else {
        let detail = format!("nothing is recorded yet of the namespace `{namespace}`");
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    };
    if oldest >= wanted.to {
        let reason = format!("nothing is recorded before {}", DateTime(oldest).text());
        return Err(Problem::invalid_field("to", reason).into());
    }
    let tenant_id = wanted.tenant_id;
    let to = wanted.to;
    // The warm-up of a limit can be longer than the time since 1970.
    let from_ms = wanted.from.as_millis().saturating_sub(wanted.warmup_ms).max(0);
    let from = Timestamp::from_millis(from_ms);
    let mut span = SampleSpan { tenant_id, namespace, from, to };
    let heads = tx.samples().heads(&span).await?;
    let usable = usable(&heads, wanted)?;
    span.from = usable.since.map_or(from, |since| since.max(from));
    let mut pieces = Vec::new();
    loop {
        let some = tx.samples().pieces(&span, pieces.len()).await?;
        let last = some.len() < PIECES_AT_ONCE as usize;
        pieces.extend(some);
        if last {
            break;
        }
    }
    let since = span.from.max(oldest);
    let mut warnings = Vec::new();
    if usable.lost > 0 {
        let lost = usable.lost;
        warnings.push(format!("{lost} checks of this time could not be recorded"));
    }
    let count_by = wanted.candidate.count_by().to_vec();
    let threshold = usable.threshold;
    Ok(RecordedTraffic { pieces, threshold, since, until: to, count_by, warnings })
}

impl RecordedTraffic {
    /// The checks, and their share of the subjects.
    pub(super) fn traffic(self, namespace: &str) -> Result<(Traffic, f64), Problem> {
        let mut gathered = Gathered {
            traffic: Traffic::new(namespace),
            marks: Vec::new(),
            threshold: self.threshold,
            count_by: self.count_by,
        };
        for piece in self.pieces {
            let plan: RecordedPlan =
                serde_json::from_value(piece.plan).map_err(Problem::internal)?;
            let recorded: RecordedChecks =
                serde_json::from_str(&piece.checks).map_err(Problem::internal)?;
            gathered.add(&plan.attributes, &recorded, piece.since)?;
        }
        let Gathered { mut traffic, threshold, .. } = gathered;
        traffic.asked.retain(|check| check.at >= self.since && check.at < self.until);
        traffic.sort();
        Ok((traffic, sample::share(threshold)))
    }
}

struct Usable {
    /// The time from which the record is usable, if not from the start.
    since: Option<Timestamp>,
    threshold: u32,
    lost: u64,
}

/// The latest part of the record that holds all attributes of both rules, and all checks of each of their subjects.
fn usable(heads: &[SampleHead], wanted: &RecordedQuery<'_>) -> Result<Usable, Problem> {
    let mut usable = Usable { since: None, threshold: ALL, lost: 0 };
    let mut recorded = 0;
    for head in heads.iter().rev() {
        let plan: RecordedPlan =
            serde_json::from_value(head.plan.clone()).map_err(Problem::internal)?;
        if let Some(reason) = unfit(&plan.plan(&head.namespace), head.threshold, wanted) {
            if recorded == 0 {
                return Err(Problem::new(ErrorCode::Conflict, reason));
            }
            usable.since = Some(head.until);
            break;
        }
        recorded += head.recorded.max(1);
        usable.lost += head.lost;
        usable.threshold = usable.threshold.min(head.threshold);
    }
    if recorded > CHECKS_MAX as u64 && !same_subjects(wanted) {
        let reason = format!(
            "{recorded} checks were recorded in this time and {CHECKS_MAX} can be replayed of a rule whose \
             subjects cannot be sampled: choose a shorter time"
        );
        return Err(Problem::invalid_field("from", reason));
    }
    Ok(usable)
}

/// The reason why a piece is not usable for the rules, if there is one.
fn unfit(plan: &SamplePlan, threshold: u32, wanted: &RecordedQuery<'_>) -> Option<String> {
    let rules = || [Some(wanted.candidate), wanted.present].into_iter().flatten();
    if let Some(lacking) = rules().find_map(|rule| plan.lacks(rule)) {
        return Some(format!(
            "the attribute `{lacking}` was not recorded: only what a rule of the namespace looks at is; \
             give a trace, or let such a rule watch for a while"
        ));
    }
    let sampled =
        threshold == ALL || (same_subjects(wanted) && rules().all(|rule| plan.samples(rule)));
    (!sampled).then(|| {
        "there was too much traffic to record all of it, and what was recorded are the checks of some \
         subjects of the present rules; this rule counts others. Give a trace, choose a quieter time, or \
         let such a rule watch for a while"
            .to_owned()
    })
}

/// Whether both rules count the same subjects. Only then is a share of the subjects a sample for both.
fn same_subjects(wanted: &RecordedQuery<'_>) -> bool {
    let count_by = wanted.candidate.count_by();
    !count_by.is_empty() && wanted.present.is_none_or(|rule| rule.count_by() == count_by)
}

/// Checks that are being collected.
struct Gathered {
    traffic: Traffic,
    /// The mark of each request.
    marks: Vec<u32>,
    threshold: u32,
    count_by: Vec<Counted>,
}

impl Gathered {
    fn add(
        &mut self,
        names: &[String],
        recorded: &RecordedChecks,
        since: Timestamp,
    ) -> Result<(), Problem> {
        let mut places = Vec::with_capacity(recorded.values.len());
        for values in &recorded.values {
            let named = names.iter().zip(values);
            let there = named.filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
            let attributes: BTreeMap<String, String> = there.collect();
            // Checks that the rule does not count matter only if all subjects are recorded.
            let mark =
                sample::mark(&self.count_by, |name| attributes.get(name).map(String::as_str));
            let mark = mark.unwrap_or(ALL);
            let place = self.traffic.request(attributes).map_err(|wrong| {
                Problem::internal(format!("a recorded check is invalid: {wrong:?}"))
            })?;
            if place as usize == self.marks.len() {
                self.marks.push(mark);
            }
            places.push(place);
        }
        for (after_ms, place, cost) in &recorded.checks {
            let Some(&request) = places.get(*place as usize) else { continue };
            if self.marks[request as usize] > self.threshold {
                continue;
            }
            let at = since.plus_ms(i64::from(*after_ms));
            let operation = if *cost < 0 { Operation::Refund } else { Operation::Consume };
            self.traffic.asked.push(ReplayedCheck {
                at,
                request,
                cost: cost.unsigned_abs(),
                operation,
            });
        }
        while self.traffic.asked.len() > CHECKS_MAX && self.threshold > 0 {
            self.threshold /= 2;
            let marks = &self.marks;
            let threshold = self.threshold;
            self.traffic.asked.retain(|check| marks[check.request as usize] <= threshold);
        }
        Ok(())
    }
}
