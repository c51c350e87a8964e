//! API keys of a tenant.

use std::collections::BTreeSet;

use weir_domain::api_key::Scope;
use weir_store::{Actor, KeyRow};
use weir_wire::api_keys::{ApiKey, IssuedKey, KeyScope};

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
mod requests;
pub(crate) mod rotate;

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
