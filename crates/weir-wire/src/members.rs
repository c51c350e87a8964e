//! Members and invitations in JSON.

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
    /// The e-mail address of the account.
    pub email: String,
    /// The name of the person.
    pub name: String,
    /// The role of the person.
    pub role: Role,
    /// The time at which the person joined.
    pub created_at: DateTime,
    /// The time of a recent request of the person in this tenant, accurate to five minutes; null if there was none.
    #[serde(default)]
    pub last_seen_at: Option<DateTime>,
}

/// `PATCH /tenants/{tenant}/members/{user}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangeMember {
    /// The new role.
    pub role: Role,
}

/// The invitations and keys that a removed member created in the tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RemovedMember {
    /// The pending invitations that the member created, now revoked.
    pub invitations_revoked: Vec<Invitation>,
    /// Whether the keys were revoked.
    pub keys_revoked: bool,
    /// The API keys that the member created and that worked until now; the newest 200.
    pub keys: Vec<ApiKey>,
}

/// An invitation that is not accepted yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Invitation {
    /// `invitation_…`
    pub id: String,
    /// The address of the invited person. Only an account with this address can accept.
    pub email: String,
    /// The role after acceptance.
    pub role: Role,
    /// The person or key that invites.
    pub invited_by: String,
    /// The time of creation.
    pub created_at: DateTime,
    /// The time until which the invitation can be accepted.
    pub expires_at: DateTime,
}

/// `POST /tenants/{tenant}/invitations`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Invite {
    /// The address of the invited person.
    #[cfg_attr(feature = "openapi", schema(example = "ada@example.com", max_length = 254))]
    pub email: String,
    /// The role that the invitation offers.
    pub role: Role,
}

/// An invitation with its token, which is shown only in this answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IssuedInvitation {
    /// The invitation.
    pub invitation: Invitation,
    /// `invite_…`: give it to the person as the link `https://<your dashboard>/accept#<token>`.
    pub token: InvitationToken,
    /// Whether Weir also sends the link to the address by e-mail.
    #[serde(default)]
    pub mailed: bool,
}

/// The token of an invitation. `Debug` hides it.
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
    /// The token of the link.
    pub token: InvitationToken,
}

/// The content of an invitation, for the holder of its token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Offer {
    /// The name of the tenant.
    pub tenant_name: String,
    /// The address of the account that can accept.
    pub email: String,
    /// The role that the invitation offers.
    pub role: Role,
    /// The person or key that invites.
    pub invited_by: String,
    /// The time until which the invitation can be accepted.
    pub expires_at: DateTime,
}
