//! Rows of Postgres into the stored form that is compiled and copied to disk.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use weir_store::{KeyRow, Left, ServedOverride, ServedRule, TenantChanges};
use weir_wire::stored::{StoredKey, StoredOverride, StoredRule, StoredTenant};

/// A tenant of which nothing was taken in yet.
pub(crate) fn empty(id: String) -> StoredTenant {
    StoredTenant {
        id,
        suspended: false,
        record_checks: true,
        enforced: true,
        checks_per_second: None,
        version: 0,
        keys: Vec::new(),
        rules: Vec::new(),
        overrides: Vec::new(),
    }
}

/// Takes in what changed of a tenant. Answers the ids of the rules that changed, that are gone or that
/// have other overrides than before.
pub(crate) fn take_in(tenant: &mut StoredTenant, changes: TenantChanges) -> BTreeSet<String> {
    tenant.suspended = changes.suspended;
    tenant.record_checks = changes.record_checks;
    tenant.enforced = changes.enforced;
    tenant.checks_per_second = changes.checks_per_second;
    tenant.version = changes.version;
    let mut changed = BTreeSet::new();
    if let Some(left) = &changes.left {
        remove(tenant, left, &mut changed);
    }
    if !changes.keys.is_empty() {
        put_keys(&mut tenant.keys, &changes.keys);
    }
    changed.extend(changes.rules.iter().map(|it| it.id.to_string()));
    let rules: Vec<_> =
        changes.rules.into_iter().map(|row| newest_readable(&tenant.rules, rule(row))).collect();
    put(&mut tenant.rules, rules, |rule| &rule.id, |_| {});
    let overrides: Vec<_> = changes.overrides.into_iter().map(exception).collect();
    changed.extend(overrides.iter().map(|it| it.rule_id.clone()));
    // An override may have been another rule's.
    let replaced = |it: &StoredOverride| changed.extend([it.rule_id.clone()]);
    put(&mut tenant.overrides, overrides, |it| &it.id, replaced);
    changed
}

/// Removes what is not left.
fn remove(tenant: &mut StoredTenant, left: &Left, changed: &mut BTreeSet<String>) {
    let rules: HashSet<_> = left.rules.iter().map(ToString::to_string).collect();
    let overrides: HashSet<_> = left.overrides.iter().map(ToString::to_string).collect();
    tenant.rules.retain(|it| rules.contains(&it.id) || !changed.insert(it.id.clone()));
    tenant.overrides.retain(|it| {
        let stays = overrides.contains(&it.id);
        if !stays {
            changed.insert(it.rule_id.clone());
        }
        stays
    });
}

/// Puts items in, in the place of those with the same ids, which are told to `replaced`.
fn put<T>(
    all: &mut Vec<Arc<T>>,
    items: impl IntoIterator<Item = T>,
    id: impl Fn(&T) -> &String,
    mut replaced: impl FnMut(&T),
) {
    let items: Vec<_> = items.into_iter().map(Arc::new).collect();
    if items.is_empty() {
        return;
    }
    let ids: HashSet<_> = items.iter().map(|it| id(it)).collect();
    all.retain(|it| {
        let stays = !ids.contains(id(it));
        if !stays {
            replaced(it);
        }
        stays
    });
    all.extend(items.iter().cloned());
    all.sort_by(|a, b| id(a).cmp(id(b)));
    all.shrink_to_fit();
}

fn put_keys(all: &mut Vec<StoredKey>, rows: &[KeyRow]) {
    let ids: HashSet<_> = rows.iter().map(|it| it.id.to_string()).collect();
    all.retain(|it| !ids.contains(&it.id));
    all.extend(rows.iter().filter(|it| it.revoked_at.is_none()).flat_map(keys));
    all.sort_by(|a, b| a.id.cmp(&b.id));
    all.shrink_to_fit();
}

/// The rule, or the revision before it where the new one cannot be read and the old one can.
fn newest_readable(held: &[Arc<StoredRule>], new: StoredRule) -> StoredRule {
    let Ok(at) = held.binary_search_by(|rule| rule.id.cmp(&new.id)) else { return new };
    match new.rule() {
        Err(reason) if held[at].rule().is_ok() => held[at].instead_of(&new, &reason),
        _ => new,
    }
}

fn rule(row: ServedRule) -> StoredRule {
    let slots = row.slots.iter().filter_map(|&slot| u16::try_from(slot).ok()).collect();
    StoredRule { id: row.id.to_string(), slots, body: row.spec, newer_unreadable: None }
}

fn exception(row: ServedOverride) -> StoredOverride {
    StoredOverride { id: row.id.to_string(), rule_id: row.rule_id.to_string(), body: row.spec }
}

/// A key's present secret, and the one before while both work.
fn keys(row: &KeyRow) -> impl Iterator<Item = StoredKey> {
    let expires_at_ms = row.expires_at.map(weir_domain::time::Timestamp::as_millis);
    let key = |digest, expires_at_ms| StoredKey {
        id: row.id.to_string(),
        digest,
        scopes: row.scopes.clone(),
        expires_at_ms,
    };
    let present = key(row.digest, expires_at_ms);
    let previous = row.previous.as_ref().map(|previous| {
        let until_ms = previous.expires_at.as_millis();
        key(previous.digest, Some(expires_at_ms.map_or(until_ms, |it| it.min(until_ms))))
    });
    std::iter::once(present).chain(previous)
}
