//! Who belongs to a tenant, and who is asked to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::api_keys::ApiKey;
use crate::tenants::Role;
use crate::time::DateTime;

/// A person in a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Member {
    /// `user_…`
    pub user_id: String,
    /// What they sign in with.
    pub email: String,
    /// What they are called.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Since when they are a member.
    pub created_at: DateTime,
}

/// `PATCH /tenants/{tenant}/members/{user}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangeMember {
    /// What they may do from now on.
    pub role: Role,
}

/// What a removed member made in the tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RemovedMember {
    /// Their pending invitations, which nobody can accept any more.
    pub invitations_revoked: Vec<Invitation>,
    /// Whether the keys were revoked.
    pub keys_revoked: bool,
    /// The API keys they made that worked until now; the newest 200.
    pub keys: Vec<ApiKey>,
}

/// An invitation that is not accepted yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Invitation {
    /// `invitation_…`
    pub id: String,
    /// Who is asked; only an account with this address can accept.
    pub email: String,
    /// What they may do once they accept.
    pub role: Role,
    /// Who asks.
    pub invited_by: String,
    /// Since when.
    pub created_at: DateTime,
    /// Until when it can be accepted.
    pub expires_at: DateTime,
}

/// `POST /tenants/{tenant}/invitations`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Invite {
    /// Whom to ask.
    #[cfg_attr(feature = "openapi", schema(example = "ada@example.com", max_length = 254))]
    pub email: String,
    /// What they shall be able to do.
    pub role: Role,
}

/// An invitation with its token, which is shown this once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IssuedInvitation {
    /// The invitation.
    pub invitation: Invitation,
    /// `invite_…`: give it to the person. Weir sends no mail.
    pub token: InvitationToken,
}

/// What proves that one was invited. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(max_length = 100))]
#[serde(transparent)]
pub struct InvitationToken(pub String);

impl fmt::Debug for InvitationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InvitationToken(…)")
    }
}

/// `POST /invitations/accept` and `POST /invitations/preview`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PresentInvitation {
    /// From the link.
    pub token: InvitationToken,
}

/// What an invitation offers to whoever holds its token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Offer {
    /// What the tenant is called.
    pub tenant_name: String,
    /// The address that can accept.
    pub email: String,
    /// What they may do there.
    pub role: Role,
    /// Who asks.
    pub invited_by: String,
    /// Until when it can be accepted.
    pub expires_at: DateTime,
}
