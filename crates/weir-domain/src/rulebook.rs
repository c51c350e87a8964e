//! The rulebook: all rules and keys of all tenants at one version, ready to decide by.
//!
//! Immutable: a newer one is built beside it and swapped in whole.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::api_key::{KeyDigest, Scope};
use crate::ceilings::CHECKS_PER_SECOND_MAX;
use crate::draft::Mode;
use crate::id::{KeyId, RuleId, TenantId};
use crate::overrides::Overrides;
use crate::pattern_budget::PatternCost;
use crate::rule::Rule;
use crate::rule_index::RuleIndex;
use crate::sample::SamplePlan;
use crate::time::Timestamp;

/// All tenants at one version.
#[derive(Debug, Clone, Default)]
pub struct Rulebook {
    version: u64,
    installation: InstallationState,
    tenants: HashMap<TenantId, Arc<TenantRules>>,
    keys: HashMap<KeyDigest, Caller>,
}

/// One tenant's part.
#[derive(Debug, Default)]
pub struct TenantRules {
    /// What holds of it as a whole.
    pub state: TenantState,
    /// Its keys.
    pub keys: Vec<(KeyDigest, Arc<ApiKey>)>,
    /// All its rules, those that are off too, by id.
    rules: Vec<Arc<ActiveRule>>,
    /// Its namespaces that have rules.
    namespaces: HashMap<String, Arc<Namespace>>,
}

/// What holds for all tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstallationState {
    /// Off: every check of every tenant is allowed.
    pub enforced: bool,
    /// Checks a second of a tenant that has no value of its own.
    pub checks_per_second: u64,
}

/// What holds of a tenant as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantState {
    /// The version at which the tenant last changed.
    pub version: u64,
    /// A suspended tenant's keys are refused.
    pub suspended: bool,
    /// Whether some of its checks are kept for what-if runs.
    pub sampled: bool,
    /// Off: every check of the tenant is allowed.
    pub enforced: bool,
    /// Its own ceiling of checks a second.
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
    /// Its rules, oldest first, enforced ones before shadow ones; none that is off.
    pub rules: Vec<Arc<ActiveRule>>,
    /// Finds the rules that may match; none: ask each.
    pub index: Option<RuleIndex>,
    /// What of its checks is kept for what-if runs; none: nothing.
    pub sample: Option<Arc<SamplePlan>>,
    /// What the regular expressions that one check can meet cost.
    pub patterns: PatternCost,
}

/// A key in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its id.
    pub id: KeyId,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// From then on it is refused.
    pub expires_at: Option<Timestamp>,
}

/// Whose request it is.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The tenant the key belongs to.
    pub tenant: TenantId,
    /// The key.
    pub key: Arc<ApiKey>,
}

/// A rule with its id and overrides.
#[derive(Debug)]
pub struct ActiveRule {
    /// Its id.
    pub id: RuleId,
    /// The rule.
    pub rule: Rule,
    /// Other limits for single subjects.
    pub overrides: Overrides,
    /// Name and id as answers write them, shared by all answers.
    name: Arc<str>,
    id_text: Arc<str>,
}

impl Rulebook {
    /// The version it holds.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whose key this is, if it is known and not expired, and its tenant is not suspended.
    pub fn caller(&self, digest: &KeyDigest, now: Timestamp) -> Option<&Caller> {
        let caller = self.keys.get(digest)?;
        let suspended = self.tenants.get(&caller.tenant).is_none_or(|it| it.state.suspended);
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
        self.namespace(tenant, namespace).map_or(&[], |it| it.rules.as_slice())
    }

    /// A tenant's namespace, if it has rules.
    pub fn namespace(&self, tenant: TenantId, namespace: &str) -> Option<&Namespace> {
        self.tenants.get(&tenant)?.namespaces.get(namespace).map(Arc::as_ref)
    }

    /// A tenant's part.
    pub fn tenant(&self, tenant: TenantId) -> Option<&Arc<TenantRules>> {
        self.tenants.get(&tenant)
    }

    /// How many tenants it holds.
    pub fn tenant_count(&self) -> usize {
        self.tenants.len()
    }

    /// This rulebook with what holds for all tenants replaced.
    #[must_use]
    pub fn with_installation(self, installation: InstallationState) -> Self {
        Self { installation, ..self }
    }

    /// This rulebook with some tenants replaced (`None`: gone), at a newer version.
    #[must_use]
    pub fn with_changes(
        &self,
        version: u64,
        changes: impl IntoIterator<Item = (TenantId, Option<TenantRules>)>,
    ) -> Self {
        let (tenants, keys) = (self.tenants.clone(), self.keys.clone());
        let mut next = Self { version, installation: self.installation, tenants, keys };
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
        let (name, id_text) = (rule.name().into(), id.to_string().into());
        Self { id, rule, overrides, name, id_text }
    }

    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Its id as text.
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
        Self::default().with_changes(state, keys, rules.into_iter().map(|it| (it.id, Some(it))))
    }

    /// This part with other keys, and with some rules replaced (`None`: gone). Rules and namespaces that
    /// did not change are shared.
    #[must_use]
    pub fn with_changes(
        &self,
        state: TenantState,
        keys: Vec<(KeyDigest, ApiKey)>,
        changes: impl IntoIterator<Item = (RuleId, Option<ActiveRule>)>,
    ) -> Self {
        let changes: BTreeMap<_, _> =
            changes.into_iter().map(|(id, rule)| (id, rule.map(Arc::new))).collect();
        let (gone, kept): (Vec<_>, Vec<_>) =
            self.rules.iter().partition(|it| changes.contains_key(&it.id));
        let came = changes.into_values().flatten();
        let mut rules: Vec<_> = kept.into_iter().cloned().collect();
        let mut touched: HashSet<String> =
            gone.into_iter().map(|it| it.rule.namespace().to_owned()).collect();
        for rule in came {
            touched.insert(rule.rule.namespace().to_owned());
            rules.push(rule);
        }
        rules.sort_by_key(|it| it.id);
        rules.shrink_to_fit();
        if state.sampled != self.state.sampled {
            touched.extend(self.namespaces.keys().cloned());
        }
        let mut namespaces = self.namespaces.clone();
        namespaces.retain(|name, _| !touched.contains(name));
        for (name, rules) in grouped(&rules, &touched) {
            let namespace = Namespace::new(&name, rules, state.sampled);
            namespaces.insert(name, Arc::new(namespace));
        }
        let keys = keys.into_iter().map(|(digest, key)| (digest, Arc::new(key))).collect();
        Self { state, keys, rules, namespaces }
    }

    /// All its rules, those that are off too, by id.
    pub fn all_rules(&self) -> &[Arc<ActiveRule>] {
        &self.rules
    }

    /// The rules of a namespace, enforced ones first, oldest first.
    pub fn rules(&self, namespace: &str) -> &[Arc<ActiveRule>] {
        self.namespaces.get(namespace).map_or(&[], |it| it.rules.as_slice())
    }
}

impl Namespace {
    /// Rules that are off are only looked at for what they would need of a sample, which is kept if
    /// `sampled`.
    fn new(name: &str, mut rules: Vec<Arc<ActiveRule>>, sampled: bool) -> Self {
        let sample =
            sampled.then(|| Arc::new(SamplePlan::of_rules(name, rules.iter().map(|it| &it.rule))));
        rules.retain(|it| it.rule.mode() != Mode::Off);
        rules.sort_unstable_by_key(|it| (it.rule.mode() == Mode::Shadow, it.id));
        rules.shrink_to_fit();
        let index = RuleIndex::of(&rules);
        let costs = rules.iter().map(|active| PatternCost::of(&active.rule));
        let patterns = costs.fold(PatternCost::default(), PatternCost::plus);
        Self { rules, index, sample, patterns }
    }
}

/// The rules of each of these namespaces that has any.
fn grouped(
    rules: &[Arc<ActiveRule>],
    namespaces: &HashSet<String>,
) -> HashMap<String, Vec<Arc<ActiveRule>>> {
    let mut groups: HashMap<String, Vec<Arc<ActiveRule>>> = HashMap::new();
    for rule in rules.iter().filter(|it| namespaces.contains(it.rule.namespace())) {
        match groups.get_mut(rule.rule.namespace()) {
            Some(group) => group.push(Arc::clone(rule)),
            None => drop(groups.insert(rule.rule.namespace().to_owned(), vec![Arc::clone(rule)])),
        }
    }
    groups
}
