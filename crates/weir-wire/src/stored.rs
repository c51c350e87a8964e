//! The stored form of one tenant's part of the rulebook, in rows of Postgres and in a gate's snapshot.
//!
//! The compiler leaves out items that this release cannot read, such as a rule of a newer release, and reports them, so
//! that one unreadable rule does not affect the others.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_domain::api_key::{KeyDigest, Scope};
use weir_domain::id::OverrideId;
use weir_domain::overrides::{Override, Overrides};
use weir_domain::pattern_budget::PatternBudget;
use weir_domain::rule::Rule;
use weir_domain::rulebook::{ActiveRule, ApiKey, InstallationState, TenantRules, TenantState};
use weir_domain::time::Timestamp;

use crate::overrides::OverrideBody;
use crate::problem::FieldProblem;
use crate::rules::RuleBody;
use crate::words::{Action, Consistency, OnStoreFailure};

/// Settings that apply to all tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredInstallation {
    /// Whether rules decide. If off, every check of every tenant is allowed.
    pub enforced: bool,
    /// The default ceiling of checks per second.
    pub checks_per_second: u64,
}

/// One tenant's keys, rules and overrides.
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
    /// The keys of the tenant; a rotated key twice while both secrets work.
    pub keys: Vec<StoredKey>,
    /// The rules, ordered by id. A gate stores only those that it left out or replaced by an older revision, because it
    /// derives the others from its compiled rules.
    pub rules: Vec<Arc<StoredRule>>,
    /// The overrides, ordered by id.
    pub overrides: Vec<Arc<StoredOverride>>,
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

/// A rule with the slots of its limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredRule {
    /// `rule_…`
    pub id: String,
    /// The slots, one for each limit.
    pub slots: Vec<u16>,
    /// The JSON of the rule. The text needs a tenth of the memory of its parsed form.
    pub body: Box<str>,
    /// The reason why the newest revision cannot be read, if this is an older one in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer_unreadable: Option<Box<str>>,
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

/// An item that could not be read and was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The id of the key, rule or override.
    pub id: String,
    /// The rule of the item. `None` for a key.
    pub rule_id: Option<String>,
    /// The reason.
    pub reason: String,
}

impl Default for StoredInstallation {
    fn default() -> Self {
        let InstallationState { enforced, checks_per_second } = InstallationState::default();
        Self { enforced, checks_per_second }
    }
}

impl From<StoredInstallation> for InstallationState {
    fn from(stored: StoredInstallation) -> Self {
        let StoredInstallation { enforced, checks_per_second } = stored;
        Self { enforced, checks_per_second }
    }
}

impl StoredTenant {
    /// This tenant with the stored form of all compiled rules that it does not have.
    #[must_use]
    pub fn with_rules_of(&self, compiled: &TenantRules) -> Self {
        let mut whole = self.clone();
        let missing = compiled.all_rules().iter().filter(|active| {
            let id = active.id_text();
            self.rules.binary_search_by(|rule| rule.id.as_str().cmp(id)).is_err()
        });
        whole.rules.extend(missing.map(|active| Arc::new(StoredRule::of(active))));
        whole.rules.sort_by(|a, b| a.id.cmp(&b.id));
        whole
    }

    /// The tenant's part of a rulebook, and the items that were left out.
    pub fn compile(&self) -> (TenantRules, Vec<LeftOut>) {
        let all = self.rules.iter().map(|rule| rule.id.clone()).collect();
        self.compile_again(&TenantRules::default(), &all)
    }

    /// The same, based on the previous part: only the rules `changed` were changed or removed or have other overrides.
    /// Items that were left out of other rules are not reported again.
    pub fn compile_again(
        &self,
        before: &TenantRules,
        changed: &BTreeSet<String>,
    ) -> (TenantRules, Vec<LeftOut>) {
        let mut left_out = Vec::new();
        let mut keys = Vec::with_capacity(self.keys.len());
        for stored in &self.keys {
            match stored.compile() {
                Ok(key) => keys.push(key),
                Err(reason) => {
                    left_out.push(LeftOut { id: stored.id.clone(), rule_id: None, reason });
                }
            }
        }
        let mut overrides: HashMap<&str, Vec<&StoredOverride>> = HashMap::new();
        for stored in self.overrides.iter().filter(|stored| changed.contains(&stored.rule_id)) {
            overrides.entry(&stored.rule_id).or_default().push(stored);
        }
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
                let active = self.rules[at].compile(&overrides, &mut left_out)?;
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
        (before.with_changes(state, keys, rules), left_out)
    }
}

impl StoredKey {
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

impl StoredRule {
    /// The stored form of a rule in force. Compiling it gives the same rule.
    pub fn of(active: &ActiveRule) -> Self {
        let body = RuleBody::from(active.rule.draft());
        let body = serde_json::to_string(&body).expect("texts and numbers serialise");
        Self {
            id: active.id_text().to_string(),
            slots: active.rule.limits().iter().map(|limit| limit.slot).collect(),
            body: body.into(),
            newer_unreadable: None,
        }
    }

    /// The rule with its readable overrides.
    fn compile(
        &self,
        overrides: &[&StoredOverride],
        left_out: &mut Vec<LeftOut>,
    ) -> Option<ActiveRule> {
        let mut keep = |id: &String, reason: String| {
            let rule_id = Some(self.id.clone());
            left_out.push(LeftOut { id: id.clone(), rule_id, reason });
        };
        let id = self.id.parse().map_err(|error| format!("{error}"));
        let (id, rule) = match id.and_then(|id| Ok((id, self.rule()?))) {
            Ok(parts) => parts,
            Err(reason) => {
                keep(&self.id, reason);
                let id = self.id.parse().ok()?;
                return Some(ActiveRule::new(id, self.stand_in()?, Overrides::default()));
            }
        };
        if let Some(reason) = &self.newer_unreadable {
            keep(&self.id, reason.to_string());
        }
        let mut parsed = Vec::with_capacity(overrides.len());
        for stored in overrides {
            match stored.parse(&rule) {
                Ok(one) => parsed.push(one),
                Err(reason) => keep(&stored.id, reason),
            }
        }
        let overrides = Overrides::build(&rule, parsed);
        Some(ActiveRule::new(id, rule, overrides))
    }

    /// The replacement of a rule without a readable revision. `None` unless its `on_store_failure` is `deny`; the
    /// replacement then denies requests that match its readable conditions.
    fn stand_in(&self) -> Option<Rule> {
        let spec = serde_json::from_str(&self.body).ok()?;
        let body = RuleBody::readable_part(&spec)?;
        if body.on_store_failure != OnStoreFailure::Deny {
            return None;
        }
        let denying = RuleBody {
            action: Action::Deny,
            limits: Vec::new(),
            block_ms: None,
            consistency: Consistency::Exact,
            ..body
        };
        let unconditional =
            RuleBody { conditions: Vec::new(), count_by: Vec::new(), ..denying.clone() };
        denying.parse().or_else(|_| unconditional.parse()).ok()
    }

    /// This older revision, in the place of a newer one that cannot be read for `reason`.
    #[must_use]
    pub fn in_place_of(&self, newer: &Self, reason: &str) -> Self {
        Self { id: newer.id.clone(), newer_unreadable: Some(reason.into()), ..self.clone() }
    }

    /// The rule with its slots.
    pub fn rule(&self) -> Result<Rule, String> {
        let body: RuleBody = serde_json::from_str(&self.body).map_err(|error| error.to_string())?;
        let rule = body.parse().map_err(|wrong| listed(&wrong))?;
        if rule.limits().len() != self.slots.len() {
            return Err(format!("{} limits, {} slots", rule.limits().len(), self.slots.len()));
        }
        Ok(rule.with_slots(&self.slots))
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
