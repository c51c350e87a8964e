//! The stage that answers checks whose denial is cached.

use super::pending::{PendingCheck, pending};
use crate::decide::turns::Turns;
use crate::state::GateState;

/// Answers checks with a cached denial. Notes the generation of the cache for the others, before any later stage acts on them.
pub(super) async fn answer(state: &GateState, checks: &mut [PendingCheck<'_>]) {
    let mut turns = Turns::default();
    for check in pending(checks).filter(|check| check.is_leasable()) {
        match state.denial_cache.get(check.charged_rules(), check.started) {
            Ok(decisions) => {
                state.meters.denied_from_cache();
                check.answer(&decisions);
            }
            Err(generation) => check.generation = Some(generation),
        }
        turns.worked(check.limit_count()).await;
    }
}
