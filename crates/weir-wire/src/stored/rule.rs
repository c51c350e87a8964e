//! The stored form of a rule.

use serde::{Deserialize, Serialize};
use weir_domain::overrides::Overrides;
use weir_domain::rule::Rule;
use weir_domain::rulebook::ActiveRule;

use super::{LeftOut, StoredOverride, listed};
use crate::rules::RuleBody;
use crate::words::{Action, OnStoreFailure};

/// A rule with the slots of its limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredRule {
    /// `rule_…`
    pub id: String,
    /// The slots, one for each limit.
    pub slots: Vec<u16>,
    /// The JSON of the rule. The text needs a tenth of the memory of its parsed form.
    pub body: Box<str>,
    /// The number of the revision. Absent in copies of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// The reason why the newest revision cannot be read, if this is an older one in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer_unreadable: Option<Box<str>>,
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
            revision: active.revision,
            newer_unreadable: None,
        }
    }

    /// The rule with its readable overrides.
    pub(super) fn compile(
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
                let rule = ActiveRule::new(id, self.stand_in()?, Overrides::default());
                return Some(rule.with_revision(self.revision));
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
        Some(ActiveRule::new(id, rule, overrides).with_revision(self.revision))
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
            namespace: body.namespace,
            name: body.name,
            conditions: body.conditions,
            count_by: body.count_by,
            mode: body.mode,
            action: Action::Deny,
            on_store_failure: body.on_store_failure,
            active: body.active,
            ..RuleBody::default()
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
