//! The state that the connections of a listener share.

use std::time::Instant;

use super::closing::Closing;
use super::overload::Overload;
use super::settings::ServeSettings;
use crate::plane::Plane;

/// One listener.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) plane: Plane,
    pub(super) settings: ServeSettings,
    pub(super) overload: Overload,
    pub(super) started: Instant,
    pub(super) closing: Closing,
}
