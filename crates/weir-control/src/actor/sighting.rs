//! The time at which people were last seen, recorded every few minutes and after the answer.

use weir_domain::id::UserId;
use weir_domain::time::Timestamp;
use weir_store::{Membership, Person, Scope, StoreError};

use crate::state::ControlState;

/// The shortest time between two records of a person.
const INTERVAL_MS: i64 = 5 * 60_000;

/// Records that this person was seen, unless that was recorded a short time ago. If too many records are being written, a
/// later request of the person writes this one.
pub(super) fn note(control: &ControlState, person: &Person, now: Timestamp) {
    let after = now.plus_ms(-INTERVAL_MS);
    let is_due = |last: Option<Timestamp>| last.is_none_or(|last| last < after);
    let of_tenant = person.membership.filter(|membership| is_due(membership.last_seen_at));
    if of_tenant.is_none() && !is_due(person.last_seen_at) {
        return;
    }
    let worker = control.clone();
    let user_id = person.user_id;
    control.local.sightings.run(async move {
        if let Err(error) = record(&worker, user_id, of_tenant, now, after).await {
            tracing::debug!(%error, "could not record the last request of a person");
        }
    });
}

async fn record(
    control: &ControlState,
    user_id: UserId,
    of_tenant: Option<Membership>,
    now: Timestamp,
    after: Timestamp,
) -> Result<(), StoreError> {
    let mut tx = control.store.begin("users.seen", Scope::User(user_id)).await?;
    tx.users().seen(user_id, now, after).await?;
    if let Some(membership) = of_tenant {
        tx.enter_tenant(membership.tenant_id).await?;
        tx.members().seen(membership.tenant_id, user_id, now, after).await?;
    }
    tx.commit().await
}
