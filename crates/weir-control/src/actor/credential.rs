//! The credential of a request: the access token of a person, or an API key.

use axum::http::request::Parts;
use weir_domain::api_key::{KeyDigest, Scope as KeyScope};
use weir_http::bearer;
use weir_http::problem::Problem;
use weir_store::{KeyRow, MemberRole, Scope};

use crate::error::ControlError;
use crate::state::ControlState;
use crate::tokens::Bearer;

/// The shortest time between two records of the use of a key.
const KEY_USE_MS: i64 = 60_000;

/// The credential of a request.
pub(super) enum Credential {
    Token(Bearer),
    Key([u8; 32]),
}

/// The credential of a request, if it has a valid form and signature.
pub(super) fn credential(parts: &Parts, control: &ControlState) -> Result<Credential, Problem> {
    let text = bearer::credential(&parts.headers, &parts.uri)?;
    let credential = if text.starts_with("weir_") {
        KeyDigest::of_presented(text).map(|KeyDigest(digest)| Credential::Key(digest))
    } else {
        control.auth.tokens.verify(text, control.clock.now()).map(Credential::Token)
    };
    credential.ok_or_else(Problem::unauthenticated)
}

/// The key with this digest, and whether its tenant is suspended.
pub(super) async fn usable_key(
    control: &ControlState,
    digest: [u8; 32],
) -> Result<(KeyRow, bool), ControlError> {
    let now = control.clock.now();
    let found = control.store.authenticate_key(&digest, now).await?;
    let (key, suspended) = found.ok_or_else(Problem::unauthenticated)?;
    if key.last_used_at.is_none_or(|last| now >= last.plus_ms(KEY_USE_MS)) {
        let mut tx = control.store.begin("keys.used", Scope::Tenant(key.tenant_id)).await?;
        tx.keys().used(&[(key.tenant_id, key.id, now)]).await?;
        tx.commit().await?;
    }
    Ok((key, suspended))
}

/// The role that the scopes of a key grant. A key is never an owner, and a key with only the scopes `check`, `exhaust`, `view` and `audit` has no role.
pub(super) fn role_of(scopes: &[String]) -> Option<MemberRole> {
    let roles = scopes.iter().filter_map(|word| match KeyScope::parse(word)? {
        KeyScope::Check | KeyScope::Exhaust | KeyScope::View | KeyScope::Audit => None,
        KeyScope::Read => Some(MemberRole::Viewer),
        KeyScope::Write => Some(MemberRole::Editor),
        KeyScope::Admin => Some(MemberRole::Admin),
    });
    roles.max()
}
