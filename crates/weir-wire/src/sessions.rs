//! Sign-in, sign-up, sessions and people in JSON.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::members::InvitationToken;
use crate::tenants::{Enforcement, Role, Tenant};
use crate::time::DateTime;

/// A password in a request. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(min_length = 8, max_length = 128, format = Password))]
#[serde(transparent)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// A code of six digits, or a recovery code. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(max_length = 64, example = "123456"))]
#[serde(transparent)]
pub struct Code(pub String);

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(…)")
    }
}

impl AsRef<str> for Code {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// `POST /auth/signup`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SignUp {
    /// The e-mail address of the account, in any case.
    #[cfg_attr(feature = "openapi", schema(example = "ada@example.com", max_length = 254))]
    pub email: String,
    /// 8 to 128 characters, and not a common password or a simple variation of one. Required unless sign-ups are
    /// confirmed: the password is then set with the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Password>,
    /// The name of the first tenant; left out with an invitation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "Acme", min_length = 1, max_length = 100))]
    pub tenant_name: Option<String>,
    /// `invite_…`: the account joins the tenant of the invitation, even if sign-up is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invitation: Option<InvitationToken>,
}

/// `GET /auth/options`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SignInOptions {
    /// Whether accounts and tenants can be created without an invitation.
    pub signup_open: bool,
    /// Whether a sign-up is answered with 202 and completed with a token that is sent to its address.
    #[serde(default)]
    pub signup_confirmed: bool,
    /// Whether `POST /auth/password-reset` sends e-mail.
    #[serde(default)]
    pub password_reset: bool,
    /// The name of the OpenID Connect provider with which people can sign in; null if there is none.
    #[serde(default)]
    pub openid_connect: Option<String>,
}

/// The answer to a sign-up that must be confirmed; the same whether or not the address has an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PendingSignUp {
    /// The normalised address.
    pub email: String,
    /// The time for which the sign-up can be confirmed.
    pub expires_in_s: u64,
}

/// The token that completes a sign-up. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(max_length = 100))]
#[serde(transparent)]
pub struct SignUpToken(pub String);

impl fmt::Debug for SignUpToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignUpToken(…)")
    }
}

/// `POST /auth/signup/confirm`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ConfirmSignUp {
    /// `signup_…`: the token that was sent to the address. It can be used once.
    pub token: SignUpToken,
    /// The password of the new account.
    pub password: Password,
}

/// The answer to a sign-up; the refresh token is in the cookie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SignedUp {
    /// The new account.
    pub user: User,
    /// The first tenant of the account, or the tenant of the invitation.
    pub tenant: Tenant,
    /// The access token, sent as `Authorization: Bearer …`.
    pub access_token: String,
    /// Always `Bearer`.
    pub token_type: String,
    /// The lifetime of the access token.
    pub expires_in_s: u64,
}

/// `POST /auth/login`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LogIn {
    /// The e-mail address of the account.
    #[cfg_attr(feature = "openapi", schema(example = "ada@example.com"))]
    pub email: String,
    /// The password.
    pub password: Password,
    /// The present code of the authenticator, or a recovery code; required if the account has a second factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}

/// The answer to a login and to a refresh; the refresh token is in the cookie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LoggedIn {
    /// The access token, sent as `Authorization: Bearer …`.
    pub access_token: String,
    /// Always `Bearer`.
    pub token_type: String,
    /// The lifetime of the access token.
    pub expires_in_s: u64,
    /// The person who signed in.
    pub user: User,
}

/// A person's account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct User {
    /// `user_…`
    pub id: String,
    /// The e-mail address of the account.
    pub email: String,
    /// The name of the person.
    pub name: String,
    /// Whether the person is an operator of this installation.
    pub operator: bool,
    /// The time at which the account was created.
    pub created_at: DateTime,
}

/// `GET /me`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Me {
    /// The person of the access token.
    pub user: User,
    /// The tenants of which the person is a member; the first 200.
    pub memberships: Vec<Membership>,
}

/// One tenant of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Membership {
    /// `tenant_…`
    pub tenant_id: String,
    /// The name of the tenant.
    pub tenant_name: String,
    /// The role of the person in the tenant.
    pub role: Role,
    /// Whether an operator has suspended the tenant.
    pub suspended: bool,
    /// Whether the tenant's limits are enforced, by its own switch.
    pub enforcement: Enforcement,
    /// Whether limits are enforced at all, by the operators' switch for every tenant.
    pub installation_enforcement: Enforcement,
}

/// A session of a person. It lasts until it is signed out, is not refreshed in time, or is 30 days old.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Session {
    /// `session_…`
    pub id: String,
    /// Whether it is the session of this request.
    pub current: bool,
    /// The `User-Agent` of the sign-in.
    pub user_agent: String,
    /// The IPv4 address or the IPv6 network of 64 bits of the sign-in; null if it is unknown.
    pub network: Option<String>,
    /// The time of the sign-in.
    pub created_at: DateTime,
    /// The time of the last refresh. A session in use is refreshed about every ten minutes.
    pub refreshed_at: DateTime,
    /// The time at which it ends unless it is refreshed.
    pub expires_at: DateTime,
}

/// `PATCH /me`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateMe {
    /// The new name.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 100))]
    pub name: String,
}

/// `POST /me/password`; ends all other sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangePassword {
    /// The present password.
    pub current_password: Password,
    /// The new password.
    pub new_password: Password,
}
