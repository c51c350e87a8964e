//! Converts rows of Postgres into the stored form, which is compiled.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use weir_domain::rulebook::{ActiveRule, TenantRules};
use weir_store::{
    KeyRow, RemainingIds, ServedOverride, ServedPlan, ServedProfile, ServedRule, TenantChanges,
};
use weir_wire::stored::{
    StoredAssignment, StoredKey, StoredOverride, StoredPlan, StoredProfile, StoredRule,
    StoredTenant,
};

/// The rules that a change affects.
#[derive(Debug, Default)]
pub(crate) struct Affected {
    /// The ids of the rules that changed, were removed, or whose overrides changed.
    pub(crate) changed: BTreeSet<String>,
    /// The ids of the rules that were removed.
    removed: HashSet<String>,
}

/// Applies changes to a tenant, whose compiled rules are `before`.
pub(crate) fn apply(
    tenant: &mut StoredTenant,
    before: &TenantRules,
    changes: TenantChanges,
) -> Affected {
    if !changes.keys.is_empty() {
        put_keys(&mut tenant.keys, &changes.keys);
    }
    tenant.suspended = changes.suspended;
    tenant.record_checks = changes.record_checks;
    tenant.enforced = changes.enforced;
    tenant.checks_per_second = changes.checks_per_second;
    tenant.version = changes.version;
    tenant.spread = changes.spread.into_iter().collect();
    tenant.customer_attribute = changes.customer_attribute;
    tenant.customer_view = changes.customer_view;
    tenant.assignments = changes.assignments.into_iter().map(StoredAssignment::from).collect();
    let mut affected = Affected::default();
    if let Some(remaining) = &changes.remaining {
        retain(tenant, before, remaining, &mut affected);
    }
    let changed = &mut affected.changed;
    changed.extend(changes.rules.iter().map(|rule| rule.id.to_string()));
    let rules = changes.rules.into_iter().map(|row| {
        let id = row.id;
        newest_readable(&tenant.rules, before.rule(id), rule(row))
    });
    let rules: Vec<_> = rules.collect();
    put(&mut tenant.rules, rules, |rule| &rule.id, |_| {});
    let overrides: Vec<_> = changes.overrides.into_iter().map(override_of).collect();
    changed.extend(overrides.iter().map(|stored| stored.rule_id.clone()));
    // The override can have belonged to another rule.
    let replaced = |before: &StoredOverride| changed.extend([before.rule_id.clone()]);
    put(&mut tenant.overrides, overrides, |stored| &stored.id, replaced);
    let profiles = changes.profiles.into_iter().map(profile);
    put(&mut tenant.profiles, profiles, |stored| &stored.id, |_| {});
    put_plans(tenant, before, changes.plans, changed);
    affected
}

/// Adds the stored form of the affected rules that the tenant has only in compiled form, so that they can be compiled again.
pub(crate) fn restore(tenant: &mut StoredTenant, before: &TenantRules, affected: &Affected) {
    let remaining = affected.changed.iter().filter(|id| !affected.removed.contains(*id));
    let compiled = remaining.filter_map(|id| {
        let is_stored = tenant.rules.binary_search_by(|rule| rule.id.cmp(id)).is_ok();
        let active = before.rule(id.parse().ok()?)?;
        (!is_stored).then(|| StoredRule::of(active))
    });
    let compiled: Vec<_> = compiled.collect();
    put(&mut tenant.rules, compiled, |rule| &rule.id, |_| {});
}

/// Removes the rules, overrides and profiles that the tenant no longer has.
fn retain(
    tenant: &mut StoredTenant,
    before: &TenantRules,
    remaining: &RemainingIds,
    affected: &mut Affected,
) {
    let rules: HashSet<_> = remaining.rules.iter().map(ToString::to_string).collect();
    let overrides: HashSet<_> = remaining.overrides.iter().map(ToString::to_string).collect();
    let stored = tenant.rules.iter().map(|rule| rule.id.as_str());
    let compiled = before.all_rules().iter().map(|active| &**active.id_text());
    let removed = stored.chain(compiled).filter(|id| !rules.contains(*id)).map(str::to_owned);
    affected.removed.extend(removed);
    let Affected { changed, removed } = affected;
    changed.extend(removed.iter().cloned());
    tenant.rules.retain(|rule| !removed.contains(&rule.id));
    tenant.overrides.retain(|stored| {
        let remains = overrides.contains(&stored.id);
        if !remains {
            changed.insert(stored.rule_id.clone());
        }
        remains
    });
    let profiles: HashSet<_> = remaining.profiles.iter().map(ToString::to_string).collect();
    tenant.profiles.retain(|stored| profiles.contains(&stored.id));
    let plans: HashSet<_> = remaining.plans.iter().map(ToString::to_string).collect();
    for plan in tenant.plans.iter().filter(|stored| !plans.contains(&stored.id)) {
        changed.extend(named_rules(plan, before));
    }
    tenant.plans.retain(|stored| plans.contains(&stored.id));
}

/// Replaces plans. Adds the rules that they name, or named before, to `changed`.
fn put_plans(
    tenant: &mut StoredTenant,
    before: &TenantRules,
    plans: Vec<ServedPlan>,
    changed: &mut BTreeSet<String>,
) {
    let plans: Vec<_> = plans.into_iter().map(plan).collect();
    changed.extend(plans.iter().flat_map(|plan| named_rules(plan, before)));
    let replaced = |plan: &StoredPlan| changed.extend(named_rules(plan, before));
    put(&mut tenant.plans, plans, |stored| &stored.id, replaced);
}

/// The ids of the compiled rules that a plan names. A rule that is new is compiled anyway.
fn named_rules(plan: &StoredPlan, before: &TenantRules) -> impl Iterator<Item = String> {
    plan.named(before.all_rules()).map(|active| active.id_text().to_string())
}

/// Replaces the items that have the ids of new items, and calls `replaced` with each of the old ones. Adds all other new
/// items.
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
    let ids: HashSet<_> = items.iter().map(|item| id(item)).collect();
    all.retain(|item| {
        let remains = !ids.contains(id(item));
        if !remains {
            replaced(item);
        }
        remains
    });
    all.extend(items.iter().cloned());
    all.sort_by(|a, b| id(a).cmp(id(b)));
    all.shrink_to_fit();
}

fn put_keys(all: &mut Vec<StoredKey>, rows: &[KeyRow]) {
    let ids: HashSet<_> = rows.iter().map(|row| row.id.to_string()).collect();
    all.retain(|key| !ids.contains(&key.id));
    all.extend(rows.iter().filter(|row| row.revoked_at.is_none()).flat_map(keys));
    all.sort_by(|a, b| a.id.cmp(&b.id));
    all.shrink_to_fit();
}

/// The new revision, or the previous one if only the previous one can be read. Of a previous revision that is not in
/// `stored`, the compiled form can be read.
fn newest_readable(
    stored: &[Arc<StoredRule>],
    compiled: Option<&Arc<ActiveRule>>,
    new: StoredRule,
) -> StoredRule {
    let previous = match stored.binary_search_by(|rule| rule.id.cmp(&new.id)) {
        Ok(at) => Arc::clone(&stored[at]),
        Err(_) => match compiled {
            Some(active) => Arc::new(StoredRule::of(active)),
            None => return new,
        },
    };
    match new.rule() {
        Err(reason) if previous.rule().is_ok() => previous.in_place_of(&new, &reason),
        _ => new,
    }
}

fn rule(row: ServedRule) -> StoredRule {
    let slots = row.slots.iter().filter_map(|&slot| u16::try_from(slot).ok()).collect();
    let revision = Some(row.revision);
    StoredRule { id: row.id.to_string(), slots, body: row.spec, revision, newer_unreadable: None }
}

fn override_of(row: ServedOverride) -> StoredOverride {
    StoredOverride { id: row.id.to_string(), rule_id: row.rule_id.to_string(), body: row.spec }
}

fn plan(row: ServedPlan) -> StoredPlan {
    StoredPlan { id: row.id.to_string(), body: row.spec, pinned: row.pinned }
}

fn profile(row: ServedProfile) -> StoredProfile {
    StoredProfile { id: row.id.to_string(), body: row.spec }
}

/// The present secret of a key, and the previous one while both are accepted.
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
        key(previous.digest, Some(expires_at_ms.map_or(until_ms, |at| at.min(until_ms))))
    });
    std::iter::once(present).chain(previous)
}
