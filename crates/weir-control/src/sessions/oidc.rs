//! Sign-in with the OpenID Connect provider: the browser is sent there, and returns with a code.
//!
//! The provider proves who the person is. An identity is linked to an account by its e-mail address once, if the provider has
//! verified the address, and found by issuer and subject from then on. An account has one identity at the provider. Both operations are opened by a browser, so they answer
//! with redirects to fixed pages of the dashboard.

use axum::http::header::{CACHE_CONTROL, LOCATION, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use weir_oidc::OidcError;

mod account;
pub(crate) mod callback;
mod cookie;
pub(crate) mod start;

/// The reason why a sign-in failed, as the sign-in page knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// The provider refused, or answered wrongly.
    Provider,
    /// The provider's document could not be read, or an answer took too long.
    Unavailable,
    /// The browser did not begin this sign-in, began it long ago, or has returned before.
    Expired,
    /// The provider has not verified an e-mail address of the person.
    Unverified,
    /// The address has no account and no invitation, and sign-up is closed.
    NoAccount,
    /// The account of the address is linked to another identity at the provider.
    Linked,
    /// The account is disabled.
    Disabled,
    /// The account requires its password and a code.
    SecondFactor,
}

impl Failure {
    const fn code(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Unavailable => "unavailable",
            Self::Expired => "expired",
            Self::Unverified => "unverified",
            Self::NoAccount => "no_account",
            Self::Linked => "linked",
            Self::Disabled => "disabled",
            Self::SecondFactor => "second_factor",
        }
    }
}

impl From<&OidcError> for Failure {
    fn from(error: &OidcError) -> Self {
        match error {
            OidcError::Discovery(_) | OidcError::TimedOut => Self::Unavailable,
            OidcError::Exchange(_) | OidcError::Token(_) | OidcError::UserInfo(_) => Self::Provider,
        }
    }
}

/// A redirect to the sign-in page, which shows the problem.
fn failed(failure: Failure, next: &str) -> Response {
    let to = format!("/sign-in?problem={}&next={}", failure.code(), encoded(next));
    redirect(&to, [cookie::none()])
}

/// A redirect to the sign-in page, which opens the new session and continues to `next` if that is a page of the dashboard.
fn signed_in(next: &str, cookies: [HeaderValue; 3]) -> Response {
    redirect(&format!("/sign-in?session=new&next={}", encoded(next)), cookies)
}

/// A redirect that sets cookies. No cache stores it.
fn redirect<const N: usize>(to: &str, cookies: [HeaderValue; N]) -> Response {
    let Ok(to) = HeaderValue::from_str(to) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let no_store = HeaderValue::from_static("no-store");
    let mut response =
        (StatusCode::SEE_OTHER, [(LOCATION, to), (CACHE_CONTROL, no_store)]).into_response();
    for cookie in cookies {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// A path within a query. Every special character is encoded, so the path cannot end the query or name another site.
fn encoded(path: &str) -> String {
    utf8_percent_encode(path, NON_ALPHANUMERIC).to_string()
}
