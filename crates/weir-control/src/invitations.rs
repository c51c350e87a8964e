//! Invitations to a tenant. The token is shown to the inviter once, for a link, which is also sent by e-mail if Weir sends any.
//!
//! A token is valid for seven days, once, for one address and one tenant. Only its SHA-256 is stored.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use weir_http::problem::Problem;
use weir_store::{InvitationRow, Tx};
use weir_wire::members::{Invitation, InvitationToken};
use weir_wire::problem::ErrorCode;

use crate::error::ControlError;
use crate::state::{ControlState, Random};
use crate::tenants;

pub(crate) mod accept;
pub(crate) mod create;
pub(crate) mod list;
pub(crate) mod preview;
pub(crate) mod revoke;
pub(crate) mod revoke_own;

const PREFIX: &str = "invite_";

/// An invitation in JSON, without its token.
pub(crate) fn invitation(row: InvitationRow) -> Invitation {
    Invitation {
        id: row.id.to_string(),
        email: row.email,
        role: tenants::role(row.role),
        invited_by: row.invited_by,
        created_at: row.created_at.into(),
        expires_at: row.expires_at.into(),
    }
}

fn new_token(random: &Random) -> InvitationToken {
    InvitationToken(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random.bytes::<32>())))
}

fn digest(token: &InvitationToken) -> [u8; 32] {
    Sha256::digest(token.0.as_bytes()).into()
}

/// The invitation of a token. From here on, the transaction can read the tenant's name.
pub(crate) async fn presented(
    control: &ControlState,
    tx: &mut Tx,
    token: &InvitationToken,
) -> Result<InvitationRow, ControlError> {
    let digest = digest(token);
    tx.enter_invitation(&digest).await?;
    let found = tx.invitations().presented(&digest, control.clock.now()).await?;
    Ok(found.ok_or_else(gone)?)
}

/// Refuses an invitation for another address. Both addresses are in normal form.
pub(crate) fn only_for_its_address(row: &InvitationRow, email: &str) -> Result<(), Problem> {
    if row.email == email {
        Ok(())
    } else {
        Err(Problem::forbidden("this invitation is for another e-mail address"))
    }
}

/// The problem for an invitation that does not exist.
pub(crate) fn gone() -> Problem {
    let detail = "this invitation has expired, was revoked or was already used";
    Problem::new(ErrorCode::NotFound, detail)
}
