//! The progress of getting started.

use weir_wire::check::CheckBody;
use weir_wire::rules::RuleAnswer;

use crate::model::template::Template;

/// The rule and key created from the template.
#[derive(Debug, Clone)]
pub(super) struct Started {
    pub(super) template: Template,
    pub(super) rule: RuleAnswer,
    pub(super) secret: String,
    /// Whether the key is new, so that its secret must be stored.
    pub(super) new_key: bool,
    pub(super) check: CheckBody,
    /// Whether checks are sent as soon as the page shows.
    pub(super) sends: bool,
}
