//! What-if runs: a changed rule beside the present one, on recorded or given checks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plans::PlanRule;
use crate::rules::RuleBody;
use crate::time::DateTime;

/// The most points of a series.
pub const POINTS_MAX: u32 = 200;
/// The most listed subjects.
pub const SUBJECTS_LISTED_MAX: usize = 50;
/// The most checks of one run, and lines of a trace.
pub const CHECKS_MAX: usize = 200_000;
/// The most bytes of a trace.
pub const TRACE_BYTES_MAX: usize = 10 << 20;

/// `POST /tenants/{tenant}/simulate`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SimulateBody {
    /// The changed rule.
    pub rule: RuleBody,
    /// The rule that the changed rule replaces; left out for a new rule.
    #[serde(default)]
    pub rule_id: Option<String>,
    /// The source of the checks.
    pub source: Source,
    /// The start; default: an hour before the end, or the beginning of the trace.
    #[serde(default)]
    pub from: Option<DateTime>,
    /// The end; default: now, or the end of the trace.
    #[serde(default)]
    pub to: Option<DateTime>,
    /// The checks, if `source` is `trace`.
    #[serde(default)]
    pub trace: Option<TraceBody>,
    /// A plan as the changed rule meets it; left out: the stored plans. Needs `rule_id`.
    #[serde(default)]
    pub plan: Option<SimulatedPlan>,
    /// The plans of customers as the changed rule meets them, at most 5,000; others have their present plans. Needs `rule_id`.
    #[serde(default)]
    pub assignments: Vec<SimulatedAssignment>,
}

/// A stored plan with other rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SimulatedPlan {
    /// `plan_…`
    pub id: String,
    /// The rules that it would name, at most 100; only the one that is replayed matters.
    pub rules: Vec<PlanRule>,
}

/// A customer on another plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SimulatedAssignment {
    /// The customer: the value of the customer attribute.
    pub customer: String,
    /// `plan_…`; left out or null: no plan.
    #[serde(default)]
    pub plan: Option<String>,
}

/// A source of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The recorded checks of the namespace.
    Recorded,
    /// The trace in the body.
    Trace,
}

/// Checks in a request. Weir does not store them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TraceBody {
    /// The format of the trace.
    pub format: TraceFormat,
    /// The text, at most 10 MiB and 200,000 lines.
    pub text: String,
}

/// A format of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TraceFormat {
    /// CSV: a first line with the names `time`, optionally `cost`, and attributes; then one check per line.
    Csv,
    /// JSON: one object per line, `{"time": …, "attributes": {…}, "cost": 1}`.
    JsonLines,
}

/// The decisions of the two rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SimulateAnswer {
    /// The start.
    pub from: DateTime,
    /// The end.
    pub to: DateTime,
    /// The start of the first step of the series.
    pub start: DateTime,
    /// The length of a step.
    pub step_ms: u64,
    /// The length of the warm-up: the counters began empty this long before `from`. The answer does not count the
    /// checks of that time.
    pub warmup_ms: u64,
    /// The length of a warm-up after which the counters are as full as they were: the longest window or block.
    pub warmup_needed_ms: u64,
    /// The decisions of the present rule; without one everything passes.
    pub present: SimulatedSide,
    /// The decisions of the changed rule.
    pub candidate: SimulatedSide,
    /// The subjects that the change would affect.
    pub subjects: SimulatedSubjects,
    /// The certainty of the result.
    pub certainty: Certainty,
    /// The variants of the changed rule, each as if all subjects had it and none had an override; empty if it has none.
    #[serde(default)]
    pub variants: Vec<SimulatedVariant>,
    /// Warnings about the result, as sentences.
    pub warnings: Vec<String>,
}

/// The decisions of a rule if all subjects had one variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SimulatedVariant {
    /// The name of the variant.
    pub name: String,
    /// The denied checks.
    pub denied: u64,
    /// The different subjects that were denied.
    pub subjects_denied: u64,
    /// The time in seconds after which an experiment with this variant and the first one distinguishes them by their denied subjects
    /// in 80 of 100 cases, at 95 %, if subjects are denied as often as in the replayed time. Null for the first variant, and if
    /// both deny the same number of subjects.
    pub needed_s: Option<u64>,
}

/// The decisions of one rule on the checks that match at least one of the two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SimulatedSide {
    /// The number of checks that match the rule; the others pass.
    pub met: u64,
    /// Allowed checks.
    pub allowed: u64,
    /// Denied checks; for a shadow rule, the checks that it would have denied.
    pub denied: u64,
    /// Allowed checks in each step.
    pub allowed_series: Vec<u64>,
    /// Denied checks in each step.
    pub denied_series: Vec<u64>,
}

/// The subjects that a change would affect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SimulatedSubjects {
    /// The number of subjects.
    pub seen: u64,
    /// The number of subjects that would be denied more often.
    pub more_denied: u64,
    /// The number of subjects that would be denied less often.
    pub less_denied: u64,
    /// The subjects with the greatest change in denied checks, at most 50.
    pub data: Vec<SimulatedSubject>,
}

/// A subject that the change would affect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SimulatedSubject {
    /// The attributes by which the rule counts; empty if all requests share one counter.
    pub subject: BTreeMap<String, String>,
    /// The checks that the present rule allows.
    pub allowed_before: u64,
    /// The checks that the present rule denies.
    pub denied_before: u64,
    /// The checks that the changed rule allows.
    pub allowed_after: u64,
    /// The checks that the changed rule denies.
    pub denied_after: u64,
}

/// The certainty of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Certainty {
    /// The share of subjects whose checks were replayed, with all checks of each; 1 means all subjects.
    pub rate: f64,
    /// The number of recorded subjects.
    pub subjects: u64,
    /// The number of checks, including those of the warm-up.
    pub checks: u64,
    /// The share of denied checks by the present rule; null with fewer than two subjects of a sample.
    pub denied_before: Option<Interval>,
    /// The share of denied checks by the changed rule.
    pub denied_after: Option<Interval>,
    /// The difference.
    pub change: Option<Interval>,
    /// A description of the bounds and their formula.
    pub method: String,
}

/// A share and the bounds between which it lies for all subjects, with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Interval {
    /// The share among the replayed checks.
    pub share: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// `GET /tenants/{tenant}/recorded`: the recorded checks that can be replayed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Recorded {
    /// Whether gates record at present.
    pub recording: bool,
    /// The time for which recorded checks are retained.
    pub retention_s: u32,
    /// Namespaces with recorded checks.
    pub data: Vec<RecordedNamespace>,
}

/// The recorded checks of a namespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecordedNamespace {
    /// The namespace.
    pub namespace: String,
    /// The start.
    pub from: DateTime,
    /// The end.
    pub to: DateTime,
    /// The number of checks.
    pub seen: u64,
    /// The number of recorded checks.
    pub recorded: u64,
    /// The share of subjects that is recorded in all of this time; 1 means all subjects.
    pub rate: f64,
}
