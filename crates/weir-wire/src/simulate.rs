//! What-if runs: a changed rule beside the present one, on recorded or given checks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::rules::RuleBody;
use crate::time::DateTime;

/// Most points of a series.
pub const POINTS_MAX: u32 = 200;
/// Most subjects that are listed.
pub const SUBJECTS_LISTED_MAX: usize = 50;
/// Most checks of one run, and lines of a trace.
pub const CHECKS_MAX: usize = 200_000;
/// Most bytes of a trace.
pub const TRACE_BYTES_MAX: usize = 10 << 20;

/// `POST /tenants/{tenant}/simulate`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SimulateBody {
    /// The rule as it might be.
    pub rule: RuleBody,
    /// The rule that it would replace; left out: it would be a new one.
    #[serde(default)]
    pub rule_id: Option<String>,
    /// The source of the checks.
    pub source: Source,
    /// From when; default: an hour before the end, or the beginning of the trace.
    #[serde(default)]
    pub from: Option<DateTime>,
    /// The end; default: now, or the end of the trace.
    #[serde(default)]
    pub to: Option<DateTime>,
    /// The checks, when `source` is `trace`.
    #[serde(default)]
    pub trace: Option<TraceBody>,
}

/// A source of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The checks that gates recorded of the namespace.
    Recorded,
    /// The body.
    Trace,
}

/// Checks written down. Nothing of it is kept.
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
    /// A first line with names: `time`, perhaps `cost`, and attributes; then one check a line.
    Csv,
    /// One object a line: `{"time": …, "attributes": {…}, "cost": 1}`.
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
    /// The counters began empty so long before `from`, with the checks of that time, which are not in the
    /// answer.
    pub warmup_ms: u64,
    /// How long the warm-up would have to be for the counters to be as full as they were: the longest
    /// window or block.
    pub warmup_needed_ms: u64,
    /// By the present rule; without one everything passes.
    pub present: SimulatedSide,
    /// By the rule as it might be.
    pub candidate: SimulatedSide,
    /// The subjects that the change would affect.
    pub subjects: SimulatedSubjects,
    /// The certainty of the result.
    pub certainty: Certainty,
    /// Warnings about the result, as sentences.
    pub warnings: Vec<String>,
}

/// The decisions of one rule about the checks that match at least one of the two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SimulatedSide {
    /// The number of checks that match the rule; the others pass.
    pub met: u64,
    /// Passed.
    pub allowed: u64,
    /// Refused, or what would be if it only watches.
    pub denied: u64,
    /// Passed in each step.
    pub allowed_series: Vec<u64>,
    /// Refused in each step.
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
    /// Those whose refusals change most, at most 50.
    pub data: Vec<SimulatedSubject>,
}

/// A subject that would notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SimulatedSubject {
    /// The attributes counted by; empty when all are counted together.
    pub subject: BTreeMap<String, String>,
    /// Passed by the present rule.
    pub allowed_before: u64,
    /// Refused by the present rule.
    pub denied_before: u64,
    /// Passed by the rule as it might be.
    pub allowed_after: u64,
    /// Refused by the rule as it might be.
    pub denied_after: u64,
}

/// The certainty of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Certainty {
    /// The share of the subjects whose checks were replayed, all of each; 1: nothing is missing.
    pub rate: f64,
    /// The number of recorded subjects.
    pub subjects: u64,
    /// The number of checks, those of the warm-up included.
    pub checks: u64,
    /// The share of refused checks by the present rule; null with fewer than two subjects of a sample.
    pub denied_before: Option<Interval>,
    /// By the rule as it might be.
    pub denied_after: Option<Interval>,
    /// The difference.
    pub change: Option<Interval>,
    /// The bounds, and the formula behind them.
    pub method: String,
}

/// A share and the bounds between which it lies for all subjects, with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Interval {
    /// Of what was replayed.
    pub share: f64,
    /// Not less.
    pub low: f64,
    /// Not more.
    pub high: f64,
}

/// `GET /tenants/{tenant}/recorded`: what there is to replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Recorded {
    /// Whether gates record at present.
    pub recording: bool,
    /// The time for which it is retained.
    pub kept_s: u32,
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
    /// The share of subjects that is recorded in all of this time; 1: all.
    pub rate: f64,
}
