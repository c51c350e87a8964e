//! Second factors and password resets in JSON.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::sessions::{Code, Password};
use crate::time::DateTime;

/// The token of a password reset. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(max_length = 100))]
#[serde(transparent)]
pub struct ResetToken(pub String);

/// `GET /me/second-factor`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SecondFactor {
    /// Whether a code is required to sign in.
    pub enabled: bool,
    /// The time from which it is required; null if it is not.
    pub enabled_at: Option<DateTime>,
    /// The number of unused recovery codes.
    pub recovery_codes: u64,
}

/// `POST /me/second-factor`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BeginSecondFactor {
    /// The present password.
    pub current_password: Password,
}

/// A new secret, shown once. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewSecondFactor {
    /// The secret in Base32, to be typed into an authenticator.
    pub secret: String,
    /// The same as an `otpauth://` address: SHA-1, six digits, 30 seconds (RFC 6238).
    pub url: String,
}

/// A body with a code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PresentCode {
    /// The present code of the authenticator.
    pub code: Code,
}

/// `DELETE /me/second-factor`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RemoveSecondFactor {
    /// The present password.
    pub current_password: Password,
    /// The present code of the authenticator, or a recovery code.
    pub code: Code,
}

/// Recovery codes, shown once. Each replaces one code of the authenticator. `Debug` hides them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecoveryCodes {
    /// Ten codes.
    pub recovery_codes: Vec<String>,
}

/// `POST /operator/password-resets`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct IssueReset {
    /// The e-mail address of the account.
    #[cfg_attr(feature = "openapi", schema(example = "ada@example.com", max_length = 254))]
    pub email: String,
}

/// A token for a new password, shown once. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IssuedReset {
    /// `reset_…`. Send it to the person as the link `https://<your dashboard>/reset#<token>`.
    pub token: ResetToken,
    /// The time for which it can be used, once.
    pub expires_in_s: u64,
}

/// `POST /auth/password-reset`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestReset {
    /// The e-mail address of the account.
    #[cfg_attr(feature = "openapi", schema(example = "ada@example.com", max_length = 254))]
    pub email: String,
}

/// `POST /auth/password-reset/confirm`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ResetPassword {
    /// `reset_…`
    pub token: ResetToken,
    /// The new password.
    pub new_password: Password,
}

macro_rules! hidden {
    ($($name:ident),+) => { $(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    )+ };
}

hidden!(ResetToken, NewSecondFactor, RecoveryCodes, IssuedReset);
