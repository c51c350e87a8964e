//! The stored form of one tenant's part of the rulebook, in rows of Postgres and in a gate's snapshot.
//!
//! The compiler leaves out items that this release cannot read, such as a rule of a newer release, and reports them, so
//! that one unreadable rule does not affect the others.

mod plan;
mod rule;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_domain::api_key::{KeyDigest, Scope};
use weir_domain::customers::Customers;
use weir_domain::id::{OverrideId, PlanId, TenantId};
use weir_domain::overrides::{Active, Override};
use weir_domain::pattern_budget::PatternBudget;
use weir_domain::profile::Profile;
use weir_domain::rule::Rule;
use weir_domain::rule_parts::RuleParts;
use weir_domain::rulebook::{ApiKey, InstallationState, SharedSettings, TenantRules, TenantState};
use weir_domain::spread::SpreadBy;
use weir_domain::time::Timestamp;

use crate::customers::served_view;
use crate::overrides::OverrideBody;
use crate::problem::FieldProblem;
use crate::profiles::ProfileBody;
use crate::regions::RegionsBody;

pub use self::plan::{PinnedRevision, StoredAssignment, StoredPlan, plan_effects};
pub use self::rule::StoredRule;

/// Settings that apply to all tenants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredInstallation {
    /// Whether rules decide. If off, every check of every tenant is allowed.
    pub enforced: bool,
    /// The default ceiling of checks per second.
    pub checks_per_second: u64,
    /// The regions.
    #[serde(default)]
    pub regions: RegionsBody,
}

/// One tenant's keys, rules, overrides and profiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredTenant {
    /// `tenant_…`
    pub id: String,
    /// Whether the keys of the tenant are refused.
    pub suspended: bool,
    /// Whether some checks of the tenant are recorded for what-if runs.
    #[serde(default = "yes")]
    pub record_checks: bool,
    /// Whether the rules of the tenant decide. If off, every check is allowed.
    #[serde(default = "yes")]
    pub enforced: bool,
    /// The tenant's own ceiling of checks per second.
    #[serde(default)]
    pub checks_per_second: Option<u64>,
    /// The version of the tenant's last change.
    pub version: u64,
    /// The keys of the tenant; a rotated key twice while both secrets work. Of keys and rules, a gate stores only those that
    /// it left out or replaced by an older revision, because it derives the others from what it compiled.
    pub keys: Vec<StoredKey>,
    /// The rules, ordered by id.
    pub rules: Vec<Arc<StoredRule>>,
    /// The overrides, ordered by id.
    pub overrides: Vec<Arc<StoredOverride>>,
    /// The profiles, ordered by id.
    #[serde(default)]
    pub profiles: Vec<Arc<StoredProfile>>,
    /// The namespaces whose counters are spread, with the attributes.
    #[serde(default)]
    pub spread: BTreeMap<String, Vec<String>>,
    /// The attribute that names the customers.
    #[serde(default)]
    pub customer_attribute: Option<String>,
    /// The JSON of the customers' own view of their usage.
    #[serde(default)]
    pub customer_view: Option<Box<str>>,
    /// The plans, ordered by id.
    #[serde(default)]
    pub plans: Vec<Arc<StoredPlan>>,
    /// All assignments of some customers. A gate derives the others from what it compiled.
    #[serde(default)]
    pub assignments: Vec<StoredAssignment>,
}

/// One accepted secret of a key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredKey {
    /// `key_…`
    pub id: String,
    /// SHA-256 of the secret.
    pub digest: [u8; 32],
    /// The permissions of the key.
    pub scopes: Vec<String>,
    /// The time from which the secret is refused, in milliseconds since the epoch.
    pub expires_at_ms: Option<i64>,
}

/// An override.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredOverride {
    /// `override_…`
    pub id: String,
    /// The rule it overrides.
    pub rule_id: String,
    /// The JSON of the override.
    pub body: Box<str>,
}

/// A profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredProfile {
    /// `profile_…`
    pub id: String,
    /// The JSON of the profile.
    pub body: Box<str>,
}

/// An item that could not be read and was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The id of the key, rule, override or profile.
    pub id: String,
    /// The rule of the item. `None` for a key and a profile.
    pub rule_id: Option<String>,
    /// The reason.
    pub reason: String,
}

impl Default for StoredInstallation {
    fn default() -> Self {
        let InstallationState { enforced, checks_per_second, .. } = InstallationState::default();
        Self { enforced, checks_per_second, regions: RegionsBody::default() }
    }
}

impl StoredInstallation {
    /// The settings as a gate of this region uses them. Regions that cannot be read count as none.
    pub fn state(&self, region: Option<&str>) -> InstallationState {
        let regions = self.regions.parse().unwrap_or_default();
        InstallationState {
            enforced: self.enforced,
            checks_per_second: self.checks_per_second,
            is_home_elsewhere: regions.is_home_elsewhere(region),
            regions,
        }
    }
}

impl StoredTenant {
    /// A tenant without keys, rules, overrides and profiles.
    pub fn empty(id: TenantId) -> Self {
        let TenantState { version, suspended, sampled, enforced, checks_per_second } =
            TenantState::default();
        Self {
            id: id.to_string(),
            suspended,
            record_checks: sampled,
            enforced,
            checks_per_second,
            version,
            keys: Vec::new(),
            rules: Vec::new(),
            overrides: Vec::new(),
            profiles: Vec::new(),
            spread: BTreeMap::new(),
            customer_attribute: None,
            customer_view: None,
            plans: Vec::new(),
            assignments: Vec::new(),
        }
    }

    /// This tenant with the settings of its compiled part, and with the stored form of all compiled keys and rules that it
    /// does not have.
    #[must_use]
    pub fn with_compiled(&self, compiled: &TenantRules) -> Self {
        let TenantState { version, suspended, sampled, enforced, checks_per_second } =
            compiled.state;
        let customers = compiled.shared().customers.as_deref();
        let assignments = customers.into_iter().flat_map(Customers::assignments);
        let mut whole = Self {
            suspended,
            record_checks: sampled,
            enforced,
            checks_per_second,
            version,
            spread: stored_spread(compiled),
            customer_attribute: customers.map(|customers| customers.attribute().to_owned()),
            customer_view: compiled.shared().customer_view.as_ref().map(|view| view.text.clone()),
            assignments: assignments.map(|one| StoredAssignment::from(*one)).collect(),
            ..self.clone()
        };
        whole.restore_keys(compiled);
        let missing = compiled.all_rules().iter().filter(|active| {
            let id = active.id_text();
            self.rules.binary_search_by(|rule| rule.id.as_str().cmp(id)).is_err()
        });
        whole.rules.extend(missing.map(|active| Arc::new(StoredRule::of(active))));
        whole.rules.sort_by(|a, b| a.id.cmp(&b.id));
        whole
    }

    /// Adds the stored form of all compiled keys that this tenant does not have.
    pub fn restore_keys(&mut self, compiled: &TenantRules) {
        let missing = compiled
            .keys
            .iter()
            .filter(|(digest, _)| self.keys.iter().all(|key| key.digest != digest.0));
        let missing: Vec<_> = missing.map(|(digest, key)| StoredKey::of(*digest, key)).collect();
        self.keys.extend(missing);
        self.keys.sort_by(|a, b| a.id.cmp(&b.id));
    }

    /// Drops what the compiled part contains: the settings of namespaces, and the keys and rules that were not `left_out`.
    pub fn drop_compiled(&mut self, left_out: &[LeftOut]) {
        let ids: BTreeSet<&str> = left_out.iter().map(|left_out| left_out.id.as_str()).collect();
        self.keys.retain(|key| ids.contains(key.id.as_str()));
        self.keys.shrink_to_fit();
        self.rules.retain(|rule| ids.contains(rule.id.as_str()));
        self.rules.shrink_to_fit();
        self.spread.clear();
        self.customer_attribute = None;
        self.customer_view = None;
        self.assignments = Vec::new();
    }

    /// The tenant's part of a rulebook, and the items that were left out.
    pub fn compile(&self) -> (TenantRules, Vec<LeftOut>) {
        let all = self.rules.iter().map(|rule| rule.id.clone()).collect();
        self.compile_again(&TenantRules::default(), &all, &RuleParts::default())
    }

    /// The same, based on the previous part: only the rules `changed` were changed or removed or have other overrides.
    /// Items that were left out of other rules are not reported again. Equal parts of rules are shared with `parts`.
    pub fn compile_again(
        &self,
        before: &TenantRules,
        changed: &BTreeSet<String>,
        parts: &RuleParts,
    ) -> (TenantRules, Vec<LeftOut>) {
        let mut left_out = Vec::new();
        let keys = self.keys.iter().map(|stored| (&stored.id, stored.compile()));
        let keys = readable(keys, &mut left_out);
        let profiles = self.profiles.iter().map(|stored| (&stored.id, stored.compile()));
        let profiles = readable(profiles, &mut left_out);
        let mut overrides: HashMap<&str, Vec<&StoredOverride>> = HashMap::new();
        for stored in self.overrides.iter().filter(|stored| changed.contains(&stored.rule_id)) {
            overrides.entry(&stored.rule_id).or_default().push(stored);
        }
        let customers = self.customers(before);
        let plans = self.plans.iter().map(|stored| (&stored.id, stored.compile()));
        let plans = readable(plans, &mut left_out);
        let mut budget = PatternBudget::default();
        let unchanged = before.all_rules().iter();
        for active in unchanged.filter(|active| !changed.contains(&**active.id_text())) {
            let taken = budget.take(&active.rule);
            debug_assert!(taken.is_ok(), "what is served is within the budget");
        }
        let mut rules = Vec::with_capacity(changed.len());
        for id in changed {
            let stored = self.rules.binary_search_by(|rule| rule.id.cmp(id));
            let compiled = stored.ok().and_then(|at| {
                let overrides = overrides.remove(id.as_str()).unwrap_or_default();
                let mut active = self.rules[at].compile(&overrides, &mut left_out)?;
                if let Some(customers) = &customers {
                    let effects = fitting(plan::effects(&plans, &active.rule), &mut left_out);
                    let overrides = active.overrides;
                    active.overrides = overrides.with_plans(&active.rule, customers, effects);
                }
                let over = budget.take(&active.rule).err();
                left_out.extend(over.map(|over| LeftOut {
                    id: id.clone(),
                    rule_id: Some(id.clone()),
                    reason: format!("match {over}"),
                }));
                over.is_none().then_some(active)
            });
            rules.extend(id.parse().map(|id| (id, compiled)));
        }
        let state = TenantState {
            version: self.version,
            suspended: self.suspended,
            sampled: self.record_checks,
            enforced: self.enforced,
            checks_per_second: self.checks_per_second,
        };
        let mut spread = BTreeMap::new();
        for (namespace, attributes) in &self.spread {
            match SpreadBy::parse(attributes.clone()) {
                Ok(spread_by) => drop(spread.insert(namespace.clone(), spread_by)),
                Err(wrong) => left_out.push(LeftOut {
                    id: namespace.clone(),
                    rule_id: None,
                    reason: listed(&FieldProblem::list(wrong)),
                }),
            }
        }
        let plans = plans.iter().map(|plan| (plan.id, Arc::clone(&plan.name))).collect();
        let customer_view = self.customer_view.as_deref().map(|text| Arc::new(served_view(text)));
        let shared = SharedSettings { spread, customers, customer_view, plans };
        let rules = before.with_changes(state, shared, keys, rules, parts);
        (rules.with_profiles(profiles), left_out)
    }
}

impl StoredTenant {
    /// The customers: those of before with the assignments that changed.
    fn customers(&self, before: &TenantRules) -> Option<Arc<Customers>> {
        let attribute = self.customer_attribute.as_deref()?;
        let known = before.shared().customers.as_ref();
        let known = known.filter(|customers| customers.attribute() == attribute);
        let known = known.map_or_else(|| Arc::new(Customers::new(attribute)), Arc::clone);
        if self.assignments.is_empty() {
            return Some(known);
        }
        let changes = self.assignments.iter().filter_map(StoredAssignment::compile).collect();
        Some(Arc::new(known.with_changes(changes)))
    }
}

impl StoredKey {
    /// The stored form of a key in force. Compiling it gives the same key.
    fn of(digest: KeyDigest, key: &ApiKey) -> Self {
        Self {
            id: key.id.to_string(),
            digest: digest.0,
            scopes: key.scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
            expires_at_ms: key.expires_at.map(Timestamp::as_millis),
        }
    }

    fn compile(&self) -> Result<(KeyDigest, ApiKey), String> {
        let scope = |word: &String| Scope::parse(word).ok_or(format!("unknown scope `{word}`"));
        let key = ApiKey {
            id: self.id.parse().map_err(|error| format!("{error}"))?,
            scopes: self.scopes.iter().map(scope).collect::<Result<_, _>>()?,
            expires_at: self.expires_at_ms.map(Timestamp::from_millis),
        };
        Ok((KeyDigest(self.digest), key))
    }
}

impl StoredProfile {
    fn compile(&self) -> Result<Profile, String> {
        let body: ProfileBody =
            serde_json::from_str(&self.body).map_err(|error| error.to_string())?;
        body.parse().map_err(|wrong| listed(&wrong))
    }
}

impl StoredOverride {
    fn parse(&self, rule: &Rule) -> Result<(OverrideId, Override, Option<Timestamp>), String> {
        let body: OverrideBody =
            serde_json::from_str(&self.body).map_err(|error| error.to_string())?;
        let id = self.id.parse().map_err(|error| format!("{error}"))?;
        let parsed = body.parse(rule).map_err(|wrong| listed(&wrong))?;
        Ok((id, parsed, body.expires_at.map(|time| time.0)))
    }
}

/// The items that can be read. The others are left out.
fn readable<'a, T>(
    items: impl Iterator<Item = (&'a String, Result<T, String>)>,
    left_out: &mut Vec<LeftOut>,
) -> Vec<T> {
    let mut read = Vec::with_capacity(items.size_hint().0);
    for (id, item) in items {
        match item {
            Ok(item) => read.push(item),
            Err(reason) => left_out.push(LeftOut { id: id.clone(), rule_id: None, reason }),
        }
    }
    read
}

/// The effects of plans that fit their rule. The others are left out.
fn fitting(
    effects: Vec<(PlanId, Result<Active, Vec<FieldProblem>>)>,
    left_out: &mut Vec<LeftOut>,
) -> Vec<Active> {
    let mut fitting = Vec::with_capacity(effects.len());
    for (plan, effect) in effects {
        match effect {
            Ok(active) => fitting.push(active),
            Err(wrong) => left_out.push(LeftOut {
                id: plan.to_string(),
                rule_id: None,
                reason: listed(&wrong),
            }),
        }
    }
    fitting
}

fn stored_spread(compiled: &TenantRules) -> BTreeMap<String, Vec<String>> {
    let stored = compiled.shared().spread.iter();
    stored.map(|(name, by)| (name.clone(), by.attributes().to_vec())).collect()
}

fn yes() -> bool {
    true
}

fn listed(wrong: &[FieldProblem]) -> String {
    let each: Vec<_> =
        wrong.iter().map(|problem| format!("{} {}", problem.field, problem.reason)).collect();
    each.join("; ")
}

#[cfg(test)]
mod tests;
