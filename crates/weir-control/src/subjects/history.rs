//! The denials of a subject over the last day, in the spans of the sketches.

use serde_json::Value;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::time::Timestamp;
use weir_store::{HistoryFilter, SKETCH_MS, SubjectSpan, Tx, sketch_start};
use weir_wire::subjects::{DenialsOfRule, SubjectHistory};

use crate::error::ControlError;

/// A day. The statistics of minutes and of subjects are retained for at least that long.
const STEPS: usize = 144;
const HOUR_MS: i64 = 3_600_000;

/// The denials of the subject by these rules, up to the step of `now`.
pub(super) async fn history(
    tx: &mut Tx,
    tenant_id: TenantId,
    rule_ids: Vec<RuleId>,
    subjects: Vec<Value>,
    now: Timestamp,
) -> Result<SubjectHistory, ControlError> {
    let at = |step: i64| Timestamp::from_millis(step * SKETCH_MS);
    let last = now.as_millis().div_euclid(SKETCH_MS);
    let first = last + 1 - i64::try_from(STEPS).unwrap_or(0);
    let from = at(first);
    let to = at(last + 1);
    let filter = HistoryFilter { tenant_id, rule_ids, subjects, from, to };
    let counted = tx.top_subjects().history(&filter).await?;
    let hour_ago = sketch_start(now.plus_ms(-HOUR_MS));
    let filter = HistoryFilter { from: hour_ago, ..filter };
    let last_hour = tx.top_subjects().denied_by(&filter).await?.into_iter();
    let column = |of: fn(&SubjectSpan) -> u64| {
        let mut steps = vec![0; STEPS];
        for span in &counted.counts {
            let step = (span.at.as_millis() - from.as_millis()).div_euclid(SKETCH_MS);
            if let Some(count) = usize::try_from(step).ok().and_then(|step| steps.get_mut(step)) {
                *count = of(span);
            }
        }
        steps
    };
    Ok(SubjectHistory {
        start: from.into(),
        step_s: u32::try_from(SKETCH_MS / 1000).unwrap_or(0),
        denied: column(|span| span.denied),
        shadow_denied: column(|span| span.shadow_denied),
        unknown: column(|span| span.unknown),
        as_of: counted.as_of.into(),
        last_hour_from: hour_ago.into(),
        last_hour: last_hour
            .map(|(rule_id, denied, shadow_denied)| DenialsOfRule {
                rule_id: rule_id.to_string(),
                denied,
                shadow_denied,
            })
            .collect(),
    })
}
