//! The part of one tenant in the rulebook: its settings, keys, rules and profiles.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::active_rule::ActiveRule;
use super::namespace::Namespace;
use crate::api_key::{KeyDigest, Scope};
use crate::customers::{CustomerView, Customers};
use crate::id::{KeyId, PlanId, RuleId};
use crate::profile::{ANY_DOMAIN, Profile};
use crate::rule_parts::RuleParts;
use crate::spread::SpreadBy;
use crate::time::Timestamp;

/// The part of one tenant.
#[derive(Debug, Default)]
pub struct TenantRules {
    /// The settings of the tenant as a whole.
    pub state: TenantState,
    /// The keys of the tenant.
    pub keys: Vec<(KeyDigest, Arc<ApiKey>)>,
    /// All rules, including those that are off, by id.
    rules: Vec<Arc<ActiveRule>>,
    /// The namespaces that have rules, by name.
    namespaces: Vec<(Arc<str>, Arc<Namespace>)>,
    /// The profiles, by name.
    profiles: Vec<Arc<Profile>>,
    /// The settings that rules of several namespaces use.
    shared: SharedSettings,
}

/// The settings that rules of several namespaces use.
#[derive(Debug, Clone, Default)]
pub struct SharedSettings {
    /// The namespaces whose counters are spread, with or without rules.
    pub spread: SpreadNamespaces,
    /// The customers of a tenant that names a customer attribute.
    pub customers: Option<Arc<Customers>>,
    /// The customers' own view of their usage, if the tenant has it.
    pub customer_view: Option<Arc<CustomerView>>,
    /// The names of the plans.
    pub plans: BTreeMap<PlanId, Arc<str>>,
}

/// The namespaces of a tenant whose counters are spread, by name.
pub type SpreadNamespaces = BTreeMap<String, SpreadBy>;

/// The settings of a tenant as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantState {
    /// The version at which the tenant last changed.
    pub version: u64,
    /// Whether the tenant is suspended. The keys of a suspended tenant are refused.
    pub suspended: bool,
    /// Whether a sample of its checks is recorded for what-if runs.
    pub sampled: bool,
    /// Whether limits are enforced. While they are not, every check of the tenant is allowed.
    pub enforced: bool,
    /// The tenant's own ceiling of checks a second.
    pub checks_per_second: Option<u64>,
}

/// A key in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// The id of the key.
    pub id: KeyId,
    /// The operations that the key permits.
    pub scopes: Vec<Scope>,
    /// The time from which the key is refused.
    pub expires_at: Option<Timestamp>,
}

impl Default for TenantState {
    fn default() -> Self {
        let version = 0;
        let checks_per_second = None;
        Self { version, suspended: false, sampled: false, enforced: true, checks_per_second }
    }
}

impl TenantRules {
    /// The part of a tenant with these keys and rules.
    pub fn new(
        state: TenantState,
        keys: Vec<(KeyDigest, ApiKey)>,
        rules: impl IntoIterator<Item = ActiveRule>,
    ) -> Self {
        let rules = rules.into_iter().map(|rule| (rule.id, Some(rule)));
        let shared = SharedSettings::default();
        Self::default().with_changes(state, shared, keys, rules, &RuleParts::default())
    }

    /// This part with other settings and keys, and with some rules replaced (`None`: removed). Rules and namespaces that did
    /// not change are shared with this part, and equal parts of rules with `parts`.
    #[must_use]
    pub fn with_changes(
        &self,
        state: TenantState,
        shared: SharedSettings,
        keys: Vec<(KeyDigest, ApiKey)>,
        changes: impl IntoIterator<Item = (RuleId, Option<ActiveRule>)>,
        parts: &RuleParts,
    ) -> Self {
        let with_parts = |mut active: ActiveRule| {
            parts.share(&mut active.rule);
            Arc::new(active)
        };
        let mut changes: BTreeMap<_, _> =
            changes.into_iter().map(|(id, rule)| (id, rule.map(with_parts))).collect();
        for active in &self.rules {
            let customers = shared.customers.as_ref();
            if let Some(changed) = customers.and_then(|customers| active.with_customers(customers))
            {
                changes.entry(active.id).or_insert_with(|| Some(changed.into()));
            }
        }
        let (replaced, unchanged): (Vec<_>, Vec<_>) =
            self.rules.iter().partition(|rule| changes.contains_key(&rule.id));
        let added = changes.into_values().flatten();
        let mut rules: Vec<_> = unchanged.into_iter().cloned().collect();
        let mut touched: HashSet<Arc<str>> =
            replaced.into_iter().map(|active| Arc::clone(&active.rule.namespace)).collect();
        for active in added {
            touched.insert(Arc::clone(&active.rule.namespace));
            rules.push(active);
        }
        rules.sort_by_key(|rule| rule.id);
        rules.shrink_to_fit();
        if state.sampled != self.state.sampled {
            touched.extend(self.namespaces.iter().map(|(name, _)| Arc::clone(name)));
        }
        let spread = &shared.spread;
        if *spread != self.shared.spread {
            let other = |name: &str| spread.get(name) != self.shared.spread.get(name);
            let names = self.namespaces.iter().map(|(name, _)| Arc::clone(name));
            touched.extend(names.filter(|name| other(name)));
        }
        let unchanged = self.namespaces.iter().filter(|(name, _)| !touched.contains(name));
        let mut namespaces: Vec<_> = unchanged.cloned().collect();
        for (name, rules) in grouped(&rules, &touched) {
            let spread_by = spread.get(&*name).cloned().unwrap_or_default();
            let namespace =
                Namespace { spread_by, ..Namespace::new(&name, rules, state.sampled, parts) };
            namespaces.push((name, Arc::new(namespace)));
        }
        namespaces.sort_by(|(a, _), (b, _)| a.cmp(b));
        namespaces.shrink_to_fit();
        let keys = keys.into_iter().map(|(digest, key)| (digest, Arc::new(key))).collect();
        Self { state, keys, rules, namespaces, profiles: self.profiles.clone(), shared }
    }

    /// This part with other profiles.
    #[must_use]
    pub fn with_profiles(self, profiles: impl IntoIterator<Item = Profile>) -> Self {
        let mut profiles: Vec<_> = profiles.into_iter().map(Arc::new).collect();
        profiles.sort_by(|a, b| a.name().cmp(b.name()));
        profiles.shrink_to_fit();
        Self { profiles, ..self }
    }

    /// The settings that rules of several namespaces use.
    pub fn shared(&self) -> &SharedSettings {
        &self.shared
    }

    /// All rules, including those that are off, by id.
    pub fn all_rules(&self) -> &[Arc<ActiveRule>] {
        &self.rules
    }

    /// A rule, if it is in force or off.
    pub fn rule(&self, id: RuleId) -> Option<&Arc<ActiveRule>> {
        let at = self.rules.binary_search_by_key(&id, |rule| rule.id).ok()?;
        self.rules.get(at)
    }

    /// The rules of a namespace, enforced ones first, oldest first.
    pub fn rules(&self, namespace: &str) -> &[Arc<ActiveRule>] {
        self.namespace(namespace).map_or(&[], |namespace| namespace.rules.as_slice())
    }

    pub(super) fn profile(&self, name: &str) -> Option<&Arc<Profile>> {
        let at = self.profiles.binary_search_by(|profile| profile.name().cmp(name)).ok()?;
        self.profiles.get(at).filter(|profile| profile.domain().is_none())
    }

    pub(super) fn profile_of_domain(&self, domain: &str) -> Option<&Arc<Profile>> {
        let of = |name: &str| {
            let mut profiles = self.profiles.iter();
            profiles.find(|profile| profile.domain().is_some_and(|own| own.name == name))
        };
        of(domain).or_else(|| of(ANY_DOMAIN))
    }

    pub(super) fn namespace(&self, name: &str) -> Option<&Namespace> {
        let at = self.namespaces.binary_search_by(|(other, _)| (**other).cmp(name)).ok()?;
        self.namespaces.get(at).map(|(_, namespace)| namespace.as_ref())
    }
}

/// The rules of these namespaces, without namespaces that have none.
fn grouped(
    rules: &[Arc<ActiveRule>],
    namespaces: &HashSet<Arc<str>>,
) -> HashMap<Arc<str>, Vec<Arc<ActiveRule>>> {
    let mut groups: HashMap<Arc<str>, Vec<Arc<ActiveRule>>> = HashMap::new();
    for active in rules.iter().filter(|active| namespaces.contains(&active.rule.namespace)) {
        let name = &active.rule.namespace;
        match groups.get_mut(name) {
            Some(group) => group.push(Arc::clone(active)),
            None => drop(groups.insert(Arc::clone(name), vec![Arc::clone(active)])),
        }
    }
    groups
}
