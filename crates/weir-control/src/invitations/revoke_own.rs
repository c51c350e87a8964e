//! The invitations that end with the credentials or the account of the person who made them.

use weir_domain::id::AuditId;
use weir_store::{NewAudit, StoreError, Tx};

use crate::invitations::invitation;

/// Revokes the pending invitations that the person in the scope made, with an entry in the log of each tenant. `like` states
/// the actor and the origin of the entries. Returns the number of invitations.
pub async fn revoke_own(
    tx: &mut Tx,
    like: &NewAudit,
    id: impl Fn() -> AuditId,
) -> Result<u64, StoreError> {
    let mut revoked = 0;
    for row in tx.invitations().revoke_own().await? {
        tx.enter_tenant(row.tenant_id).await?;
        let entry = NewAudit {
            id: id(),
            tenant_id: Some(row.tenant_id),
            action: "invitation.revoke".to_owned(),
            object_kind: "invitation".to_owned(),
            object_id: row.id.to_string(),
            before: serde_json::to_value(invitation(row)).ok(),
            after: None,
            ..like.clone()
        };
        tx.audit().append(&entry);
        revoked += 1;
    }
    Ok(revoked)
}
