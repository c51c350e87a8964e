//! One tenant's part of the rulebook as it is stored: in Postgres' rows and in a gate's disk copy.
//!
//! Compiling it leaves out what this binary cannot read (a rule written by a newer release, say) and
//! names it, so that one bad rule never takes the others with it.

use serde::{Deserialize, Serialize};
use weir_domain::api_key::{KeyDigest, Scope};
use weir_domain::overrides::Overrides;
use weir_domain::rule::Rule;
use weir_domain::rulebook::{ActiveRule, ApiKey, TenantRules};
use weir_domain::time::Timestamp;

use crate::overrides::OverrideBody;
use crate::problem::FieldProblem;
use crate::rules::RuleBody;

/// One tenant's keys, rules and overrides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredTenant {
    /// `tenant_…`
    pub id: String,
    /// Whether its keys are refused.
    pub suspended: bool,
    /// Whether some of its checks are kept for what-if runs.
    #[serde(default = "yes")]
    pub record_checks: bool,
    /// The version at which it last changed.
    pub version: u64,
    /// Its keys, a rotated one twice while both secrets work.
    pub keys: Vec<StoredKey>,
    /// Its rules.
    pub rules: Vec<StoredRule>,
    /// Its overrides.
    pub overrides: Vec<StoredOverride>,
}

/// One accepted secret of a key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredKey {
    /// `key_…`
    pub id: String,
    /// SHA-256 of the secret.
    pub digest: [u8; 32],
    /// What it may be used for.
    pub scopes: Vec<String>,
    /// From then on it is refused, in milliseconds since the epoch.
    pub expires_at_ms: Option<i64>,
}

/// A rule with the slots of its limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredRule {
    /// `rule_…`
    pub id: String,
    /// One for each limit.
    pub slots: Vec<u16>,
    /// The rule as it was written.
    pub body: serde_json::Value,
}

/// An override.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredOverride {
    /// `override_…`
    pub id: String,
    /// The override as it was written.
    pub body: serde_json::Value,
}

/// Something that could not be read and was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The id of the key, rule or override.
    pub id: String,
    /// Why.
    pub reason: String,
}

impl StoredTenant {
    /// The tenant's part of a rulebook, and what had to be left out of it.
    pub fn compile(&self) -> (TenantRules, Vec<LeftOut>) {
        let mut left_out = Vec::new();
        let mut keep =
            |id: &str, reason: String| left_out.push(LeftOut { id: id.to_owned(), reason });
        let mut keys = Vec::with_capacity(self.keys.len());
        for stored in &self.keys {
            match stored.compile() {
                Ok(key) => keys.push(key),
                Err(reason) => keep(&stored.id, reason),
            }
        }
        let mut rules = Vec::with_capacity(self.rules.len());
        for stored in &self.rules {
            match stored.compile() {
                Ok(rule) => rules.push(rule),
                Err(reason) => keep(&stored.id, reason),
            }
        }
        let mut of_rule = std::collections::HashMap::<String, Vec<_>>::new();
        for stored in &self.overrides {
            match serde_json::from_value::<OverrideBody>(stored.body.clone()) {
                Ok(body) => of_rule.entry(body.rule_id.clone()).or_default().push((stored, body)),
                Err(error) => keep(&stored.id, error.to_string()),
            }
        }
        for active in &mut rules {
            let Some(all) = of_rule.remove(&active.id.to_string()) else { continue };
            let parsed = all.into_iter().filter_map(|(stored, body)| {
                let id = stored.id.parse().map_err(|error| format!("{error}"));
                let parsed = body.parse(&active.rule).map_err(|wrong| listed(&wrong));
                match id.and_then(|id| Ok((id, parsed?))) {
                    Ok((id, it)) => Some((id, it, body.expires_at.map(|it| it.0))),
                    Err(reason) => {
                        keep(&stored.id, reason);
                        None
                    }
                }
            });
            active.overrides = Overrides::build(&active.rule, parsed.collect::<Vec<_>>());
        }
        let rules = TenantRules::new(self.version, self.suspended, self.record_checks, keys, rules);
        (rules, left_out)
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
    fn compile(&self) -> Result<ActiveRule, String> {
        let rule = self.rule()?;
        let id = self.id.parse().map_err(|error| format!("{error}"))?;
        Ok(ActiveRule::new(id, rule, Overrides::default()))
    }

    /// The rule with its slots.
    pub fn rule(&self) -> Result<Rule, String> {
        let body: RuleBody =
            serde_json::from_value(self.body.clone()).map_err(|error| error.to_string())?;
        let rule = body.parse().map_err(|wrong| listed(&wrong))?;
        if rule.limits().len() != self.slots.len() {
            return Err(format!("{} limits, {} slots", rule.limits().len(), self.slots.len()));
        }
        Ok(rule.with_slots(&self.slots))
    }
}

fn yes() -> bool {
    true
}

fn listed(wrong: &[FieldProblem]) -> String {
    let each: Vec<_> = wrong.iter().map(|it| format!("{} {}", it.field, it.reason)).collect();
    each.join("; ")
}
