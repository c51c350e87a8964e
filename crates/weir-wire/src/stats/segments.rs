//! The segments of a rule's checks: variants, the share of enforced subjects, classes.

use serde::{Deserialize, Serialize};

use super::Counts;
use crate::time::DateTime;

/// The most denied subjects that the segments of a rule count.
pub const SUBJECTS_COUNTED_MAX: usize = 10_000;

/// `GET /tenants/{tenant}/rules/{rule}/segments`: the decisions of a rule in each segment of its checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RuleSegments {
    /// The start, widened to whole minutes, hours or days.
    pub from: DateTime,
    /// The end.
    pub to: DateTime,
    /// The variants, the enforced and the shadow subjects, and the classes of the rule as it is now; empty if it has none.
    pub data: Vec<SegmentCounts>,
    /// The start of the time whose denied subjects are counted: the last edit of the rule, or the oldest entry of the log of denials.
    pub subjects_from: DateTime,
    /// Whether the log holds every denied check of that time. If not, subjects that were denied rarely are missing.
    pub subjects_complete: bool,
    /// A description of `compared` and its formula.
    pub method: String,
    /// The time up to which the counts are complete; later ones can still grow.
    pub as_of: DateTime,
    /// Decisions in this time that gates could not record, of all tenants together.
    pub dropped: u64,
}

/// The decisions of a rule in one segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SegmentCounts {
    /// The kind of the segment.
    pub kind: SegmentKind,
    /// The name of the variant or of the class.
    pub name: Option<String>,
    /// The share of the subjects in percent; null for a class.
    pub percent: Option<u64>,
    /// The decisions.
    pub counts: Counts,
    /// The number of different subjects that the log of denials has, at most 10,000 of all segments; null for a class.
    pub subjects_denied: Option<u64>,
    /// The denied subjects beside those of the first variant; null for the first one, and if neither has denied subjects.
    pub compared: Option<Comparison>,
}

/// A kind of segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SegmentKind {
    /// Subjects that have a variant.
    Variant,
    /// Subjects for which the rule is enforced.
    Enforced,
    /// Subjects for which the rule only counts what it would deny.
    Shadow,
    /// Checks of a listed class.
    Class,
    /// Checks of classes that are not listed.
    OtherClasses,
    /// Checks without a class.
    NoClass,
}

/// The number of subjects that one variant denies for each subject that the first one denies, if both had the same share, with 95 %
/// bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Comparison {
    /// The number; null if the first variant denied no subject.
    pub ratio: Option<f64>,
    /// The lower bound.
    pub low: f64,
    /// The upper bound; null if there is none.
    pub high: Option<f64>,
}
