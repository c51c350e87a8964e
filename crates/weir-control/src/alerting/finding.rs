//! Something that an alert announces once.

use weir_domain::time::Timestamp;

use crate::alerting::told::Told;

/// Something that is to be told once.
#[derive(Debug)]
pub(super) struct Finding {
    /// What, so that the same is the same.
    pub(super) marks: Vec<String>,
    /// When it may be told again.
    pub(super) expires_at: Timestamp,
    /// What is told.
    pub(super) told: Told,
}
