//! The fields of an override that its author sets.

use serde_json::Value;
use weir_domain::id::RuleId;
use weir_domain::time::Timestamp;

/// The fields of an override that its author sets.
#[derive(Debug, Clone, PartialEq)]
pub struct OverrideBody {
    /// The rule.
    pub rule_id: RuleId,
    /// The subject, as attributes and their values.
    pub subject: Value,
    /// The SHA-256 of the subject in its canonical form.
    pub subject_digest: [u8; 32],
    /// The limits or the action, in the API's format.
    pub spec: Value,
    /// The reason that the author gave.
    pub reason: String,
    /// The time after which the override does not apply.
    pub expires_at: Option<Timestamp>,
}
