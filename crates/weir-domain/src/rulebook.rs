//! The rulebook: all rules and keys of all tenants at one version, compiled.
//!
//! A rulebook is immutable: a newer one is built beside it and replaces it as a whole.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::api_key::{KeyDigest, Scope};
use crate::ceilings::CHECKS_PER_SECOND_MAX;
use crate::draft::Mode;
use crate::id::{KeyId, RuleId, TenantId};
use crate::overrides::Overrides;
use crate::pattern_budget::PatternCost;
use crate::profile::{ANY_DOMAIN, Profile};
use crate::rule::Rule;
use crate::rule_index::RuleIndex;
use crate::rule_parts::RuleParts;
use crate::sample::SamplePlan;
use crate::sharded_map::ShardedMap;
use crate::spread::SpreadBy;
use crate::time::Timestamp;

/// All tenants at one version.
#[derive(Debug, Clone, Default)]
pub struct Rulebook {
    version: u64,
    /// A random number, which changes whenever everything is loaded anew.
    lineage: u64,
    installation: InstallationState,
    tenants: ShardedMap<TenantId, Arc<TenantRules>>,
    keys: ShardedMap<KeyDigest, Caller>,
}

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
    /// The namespaces whose counters are spread, with or without rules.
    spread: SpreadNamespaces,
}

/// The namespaces of a tenant whose counters are spread, by name.
pub type SpreadNamespaces = BTreeMap<String, SpreadBy>;

/// The settings for all tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstallationState {
    /// Whether limits are enforced. While they are not, every check of every tenant is allowed.
    pub enforced: bool,
    /// Checks a second of a tenant that has no value of its own.
    pub checks_per_second: u64,
}

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

impl Default for InstallationState {
    fn default() -> Self {
        Self { enforced: true, checks_per_second: CHECKS_PER_SECOND_MAX }
    }
}

impl Default for TenantState {
    fn default() -> Self {
        let (version, checks_per_second) = (0, None);
        Self { version, suspended: false, sampled: false, enforced: true, checks_per_second }
    }
}

/// A namespace of one tenant.
#[derive(Debug, Default)]
pub struct Namespace {
    /// The rules that are not off: enforced ones before shadow ones, oldest first.
    pub rules: Vec<Arc<ActiveRule>>,
    /// The index that finds the rules that can match. `None` means that every rule is tried.
    pub index: Option<RuleIndex>,
    /// The parts of checks that are recorded for what-if runs. `None` means that no check is recorded.
    pub sample: Option<Arc<SamplePlan>>,
    /// The cost of the regular expressions that one check can evaluate.
    pub patterns: PatternCost,
    /// The attributes by whose values the counters are spread.
    pub spread_by: SpreadBy,
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

/// The owner of a request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The tenant that owns the key.
    pub tenant: TenantId,
    /// The key.
    pub key: Arc<ApiKey>,
}

/// A rule with its id and overrides.
#[derive(Debug)]
pub struct ActiveRule {
    /// The id of the rule.
    pub id: RuleId,
    /// The rule.
    pub rule: Rule,
    /// Other limits for single subjects.
    pub overrides: Overrides,
    /// The id as answers write it, shared by all answers.
    id_text: Arc<str>,
}

impl Rulebook {
    /// The version of the rulebook.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Identifies the tenant's part among all that this process has served: it changes with the tenant's rules, keys,
    /// overrides and settings, and with nothing that another tenant changes.
    pub fn tenant_generation(&self, tenant: TenantId) -> u64 {
        let version = self.tenants.get(&tenant).map_or(0, |part| part.state.version);
        self.lineage.wrapping_add(version)
    }

    /// The owner of a key, if the key is known and not expired, and its tenant is not suspended.
    pub fn caller(&self, digest: &KeyDigest, now: Timestamp) -> Option<&Caller> {
        let caller = self.keys.get(digest)?;
        let suspended = self.tenants.get(&caller.tenant).is_none_or(|part| part.state.suspended);
        let expired = caller.key.expires_at.is_some_and(|expires_at| expires_at <= now);
        (!suspended && !expired).then_some(caller)
    }

    /// Whether the tenant's rules decide: neither its own switch nor the installation's is off.
    pub fn enforced(&self, tenant: TenantId) -> bool {
        let own = self.tenants.get(&tenant).is_none_or(|part| part.state.enforced);
        own && self.installation.enforced
    }

    /// The tenant's ceiling of checks a second, on all gates together.
    pub fn checks_per_second(&self, tenant: TenantId) -> u64 {
        let own = self.tenants.get(&tenant).and_then(|part| part.state.checks_per_second);
        own.unwrap_or(self.installation.checks_per_second)
    }

    /// The rules of a tenant's namespace.
    pub fn rules(&self, tenant: TenantId, namespace: &str) -> &[Arc<ActiveRule>] {
        self.namespace(tenant, namespace).map_or(&[], |namespace| namespace.rules.as_slice())
    }

    /// A tenant's namespace, if it has rules.
    pub fn namespace(&self, tenant: TenantId, namespace: &str) -> Option<&Namespace> {
        self.tenants.get(&tenant)?.namespace(namespace)
    }

    /// A tenant's profile by which a proxy asks `/authorize`.
    pub fn profile(&self, tenant: TenantId, name: &str) -> Option<&Arc<Profile>> {
        let profiles = &self.tenants.get(&tenant)?.profiles;
        let at = profiles.binary_search_by(|profile| profile.name().cmp(name)).ok()?;
        profiles.get(at).filter(|profile| profile.domain().is_none())
    }

    /// A tenant's profile of a domain of the rate limit service, else that of all domains.
    pub fn profile_of_domain(&self, tenant: TenantId, domain: &str) -> Option<&Arc<Profile>> {
        let profiles = &self.tenants.get(&tenant)?.profiles;
        let of = |name: &str| {
            profiles.iter().find(|profile| profile.domain().is_some_and(|own| own.name == name))
        };
        of(domain).or_else(|| of(ANY_DOMAIN))
    }

    /// A tenant's part.
    pub fn tenant(&self, tenant: TenantId) -> Option<&Arc<TenantRules>> {
        self.tenants.get(&tenant)
    }

    /// All tenants and their parts.
    pub fn tenants(&self) -> impl Iterator<Item = (TenantId, &TenantRules)> {
        self.tenants.iter().map(|(id, part)| (*id, part.as_ref()))
    }

    /// The number of tenants.
    pub fn tenant_count(&self) -> usize {
        self.tenants.len()
    }

    /// This rulebook with other settings for all tenants.
    #[must_use]
    pub fn with_installation(self, installation: InstallationState) -> Self {
        Self { installation, ..self }
    }

    /// This rulebook with a random number that no rulebook of another history of the database has. Versions of two
    /// histories can be equal.
    #[must_use]
    pub fn with_lineage(self, lineage: u64) -> Self {
        Self { lineage, ..self }
    }

    /// This rulebook with some tenants replaced (`None`: removed), at a newer version.
    #[must_use]
    pub fn with_changes(
        &self,
        version: u64,
        changes: impl IntoIterator<Item = (TenantId, Option<TenantRules>)>,
    ) -> Self {
        let (tenants, keys) = (self.tenants.clone(), self.keys.clone());
        let mut next = Self { version, tenants, keys, ..*self };
        for (tenant, rules) in changes {
            if let Some(before) = next.tenants.remove(&tenant) {
                for (digest, _) in &before.keys {
                    next.keys.remove(digest);
                }
            }
            if let Some(rules) = rules {
                for (digest, key) in &rules.keys {
                    next.keys.insert(*digest, Caller { tenant, key: Arc::clone(key) });
                }
                next.tenants.insert(tenant, Arc::new(rules));
            }
        }
        next
    }
}

impl ActiveRule {
    /// A rule in force.
    pub fn new(id: RuleId, rule: Rule, overrides: Overrides) -> Self {
        let id_text = id.to_string().into();
        Self { id, rule, overrides, id_text }
    }

    /// The name of the rule.
    pub fn name(&self) -> &Arc<str> {
        &self.rule.name
    }

    /// The id as text.
    pub fn id_text(&self) -> &Arc<str> {
        &self.id_text
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
        let spread = SpreadNamespaces::new();
        Self::default().with_changes((state, spread), keys, rules, &RuleParts::default())
    }

    /// This part with other settings and keys, and with some rules replaced (`None`: removed). Rules and namespaces that did
    /// not change are shared with this part, and equal parts of rules with `parts`.
    #[must_use]
    pub fn with_changes(
        &self,
        (state, spread): (TenantState, SpreadNamespaces),
        keys: Vec<(KeyDigest, ApiKey)>,
        changes: impl IntoIterator<Item = (RuleId, Option<ActiveRule>)>,
        parts: &RuleParts,
    ) -> Self {
        let shared = |mut active: ActiveRule| {
            parts.share(&mut active.rule);
            Arc::new(active)
        };
        let changes: BTreeMap<_, _> =
            changes.into_iter().map(|(id, rule)| (id, rule.map(shared))).collect();
        let (replaced, shared): (Vec<_>, Vec<_>) =
            self.rules.iter().partition(|rule| changes.contains_key(&rule.id));
        let added = changes.into_values().flatten();
        let mut rules: Vec<_> = shared.into_iter().cloned().collect();
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
        if spread != self.spread {
            let other = |name: &str| spread.get(name) != self.spread.get(name);
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
        Self { state, keys, rules, namespaces, profiles: self.profiles.clone(), spread }
    }

    /// This part with other profiles.
    #[must_use]
    pub fn with_profiles(self, profiles: impl IntoIterator<Item = Profile>) -> Self {
        let mut profiles: Vec<_> = profiles.into_iter().map(Arc::new).collect();
        profiles.sort_by(|a, b| a.name().cmp(b.name()));
        profiles.shrink_to_fit();
        Self { profiles, ..self }
    }

    /// The namespaces whose counters are spread.
    pub fn spread(&self) -> &SpreadNamespaces {
        &self.spread
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

    fn namespace(&self, name: &str) -> Option<&Namespace> {
        let at = self.namespaces.binary_search_by(|(other, _)| (**other).cmp(name)).ok()?;
        self.namespaces.get(at).map(|(_, namespace)| namespace.as_ref())
    }
}

impl Namespace {
    /// Rules that are off count only for the attributes that a sample must hold for them.
    fn new(name: &str, mut rules: Vec<Arc<ActiveRule>>, sampled: bool, parts: &RuleParts) -> Self {
        let sample = sampled.then(|| {
            let plan = SamplePlan::of_rules(name, rules.iter().map(|active| &active.rule));
            let mut plan = Arc::new(plan);
            parts.share_sample(&mut plan);
            plan
        });
        rules.retain(|active| active.rule.mode() != Mode::Off);
        rules.sort_unstable_by_key(|active| (active.rule.mode() == Mode::Shadow, active.id));
        rules.shrink_to_fit();
        let index = RuleIndex::of(&rules.iter().map(|active| &active.rule).collect::<Vec<_>>());
        let costs = rules.iter().map(|active| PatternCost::of(&active.rule));
        let patterns = costs.fold(PatternCost::default(), PatternCost::plus);
        Self { rules, index, sample, patterns, spread_by: SpreadBy::default() }
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
