//! API keys of a tenant.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::response::Response;
use weir_domain::api_key::Scope;
use weir_domain::id::KeyId;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_store::{Actor, KeyRow};
use weir_wire::api_keys::{ApiKey, IssuedKey, KeyScope};
use weir_wire::page::Page;

use crate::actor::{Admin, By, Viewer};
use crate::answers::to_value;
use crate::api_keys::requests::Requests;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Once;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;

pub(crate) mod create;
mod requests;
pub(crate) mod rotate;

/// The tenant's API keys, newest first, without their secrets.
#[utoipa::path(get, path = "/tenants/{tenant}/keys", operation_id = "keys_list", tag = "keys",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The keys", body = Page<ApiKey>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<ApiKey>>, ControlError> {
    let list = List::new(&["keys", &caller.tenant_id.to_string()], query)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = control.reading("keys.list", &caller).await?;
    let listing = tx.keys().list(caller.tenant_id, &page).await?;
    // A person is named by an e-mail address. The names of keys contain a space.
    let makers = listing.items.iter().map(|row| row.created_by.to_lowercase());
    let makers: Vec<_> =
        makers.filter(|maker| maker.contains('@') && !maker.contains(' ')).collect();
    let members = tx.members().emails_of(caller.tenant_id, &makers).await?;
    let keys: Vec<_> = listing.items.iter().map(|row| row.id).collect();
    let requests = Requests::read(&mut tx, &caller, &keys, control.clock.now()).await?;
    let item = |row: KeyRow| {
        let maker = row.created_by.to_lowercase();
        let former = makers.contains(&maker) && !members.contains(&maker);
        let requests = Some(requests.of(row.id));
        ApiKey { created_by_former_member: former, requests, ..key(row) }
    };
    Ok(Json(list.answer(listing, |row| row.id.to_string(), item)))
}

/// Revoke an API key: gates refuse it within a second.
#[utoipa::path(delete, path = "/tenants/{tenant}/keys/{key}", operation_id = "keys_delete", tag = "keys",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("key" = String, Path, description = "`key_…`"),
    ),
    responses((status = 204, description = "Revoked")))]
pub(crate) async fn delete(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Path((_, id)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    let key_id: KeyId = id.parse().map_err(|_| Problem::not_found())?;
    let mut change = control.change("keys.delete", caller, Once::not_stored()).await?;
    let tenant_id = change.caller.tenant_id;
    let now = change.now;
    let row = change.tx.keys().revoke(tenant_id, key_id, now).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    let before = to_value(&key(row))?;
    change.audit("key.delete", Object::new("key", &key_id), Some(before), None);
    change.done().await
}

/// A key in JSON, without its secret.
pub(crate) fn key(row: KeyRow) -> ApiKey {
    ApiKey {
        id: row.id.to_string(),
        name: row.name,
        scopes: scopes(&row.scopes),
        namespaces: row.namespaces,
        hint: row.hint,
        created_by: row.created_by,
        created_by_former_member: false,
        created_at: row.created_at.into(),
        expires_at: row.expires_at.map(Into::into),
        previous_expires_at: row.previous.map(|previous| previous.expires_at.into()),
        last_used_at: row.last_used_at.map(Into::into),
        requests: None,
    }
}

/// A key in JSON with its secret, which is shown only once. The commit sets the version.
fn issued(row: KeyRow, secret: &str) -> IssuedKey {
    IssuedKey {
        id: row.id.to_string(),
        name: row.name,
        scopes: scopes(&row.scopes),
        namespaces: row.namespaces,
        hint: row.hint,
        secret: secret.to_owned(),
        created_at: row.created_at.into(),
        expires_at: row.expires_at.map(Into::into),
        previous_expires_at: row.previous.map(|previous| previous.expires_at.into()),
        rulebook_version: 0,
    }
}

fn scopes(words: &[String]) -> Vec<KeyScope> {
    let scope = |scope| match scope {
        Scope::Check => KeyScope::Check,
        Scope::Exhaust => KeyScope::Exhaust,
        Scope::View => KeyScope::View,
        Scope::Read => KeyScope::Read,
        Scope::Audit => KeyScope::Audit,
        Scope::Write => KeyScope::Write,
        Scope::Admin => KeyScope::Admin,
    };
    words.iter().filter_map(|word| Scope::parse(word)).map(scope).collect()
}

/// The stored names of the scopes, each once, weakest first.
fn words(scopes: &[KeyScope]) -> Vec<String> {
    let scope = |scope: &KeyScope| match scope {
        KeyScope::Check => Scope::Check,
        KeyScope::Exhaust => Scope::Exhaust,
        KeyScope::View => Scope::View,
        KeyScope::Read => Scope::Read,
        KeyScope::Audit => Scope::Audit,
        KeyScope::Write => Scope::Write,
        KeyScope::Admin => Scope::Admin,
    };
    let unique: BTreeSet<Scope> = scopes.iter().map(scope).collect();
    unique.into_iter().map(|scope| scope.as_str().to_owned()).collect()
}

/// The name of an author, for people.
pub(crate) fn maker(actor: &Actor) -> String {
    match actor {
        Actor::Person { email, .. } => email.clone(),
        Actor::Key { name, .. } => format!("key {name}"),
        Actor::System | Actor::Anonymous => "weir".to_owned(),
    }
}
