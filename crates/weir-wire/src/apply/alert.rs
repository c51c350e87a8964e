//! A desired alert. Names stand for the ids of its webhooks and rule.

use serde::{Deserialize, Serialize};
use weir_domain::alert::{Condition, distinct_webhooks};
use weir_domain::id::RuleId;
use weir_domain::names;

use crate::alerts::{AlertBody, AlertKind, one_or_several};
use crate::check::default_namespace;
use crate::problem::FieldProblem;

/// Most characters of the reference to a webhook, which can be a URL.
pub const WEBHOOK_CHARS_MAX: usize = 2_000;

/// A desired alert. The set and the name identify it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApplyAlert {
    /// The name. A set has one alert of a name.
    pub name: String,
    /// The names or the URLs of the webhooks that receive the announcements, one to five: each the only webhook that has it.
    /// `webhook` with one of them says the same.
    #[serde(alias = "webhook", deserialize_with = "one_or_several")]
    pub webhooks: Vec<String>,
    /// Whether the alert is evaluated.
    #[serde(default = "yes")]
    #[cfg_attr(feature = "openapi", schema(default = true))]
    pub enabled: bool,
    /// The subject of the alert.
    pub kind: AlertKind,
    /// With `rule`: the namespace of the rule, by default `default`. Without: only requests of this namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// `quota`: the name of the rule whose quotas are watched. `denial_share`: only decisions of this rule. A rule of the request,
    /// or a stored one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// `quota`: only the subjects of this customer. The rule must count by the customer attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer: Option<String>,
    /// `quota`: one to five whole numbers from 1 to 100; default 80, 90, 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = json!([80, 90, 100])))]
    pub thresholds_percent: Option<Vec<u32>>,
    /// `denial_share`: the lowest share of denied checks that is announced, 1 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_percent: Option<u32>,
    /// `denial_share`: the time over which the share is computed, in whole minutes up to a day; default 300.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_s: Option<u32>,
    /// `denial_share`: the lowest number of checks for which the share is computed; default 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks_min: Option<u64>,
}

impl ApplyAlert {
    /// An alert of the API, whose webhooks have these names, and whose rule has this namespace and name.
    pub fn of(body: AlertBody, webhooks: Vec<String>, rule: Option<(String, String)>) -> Self {
        let (namespace, rule) = match rule {
            Some((namespace, rule)) => (Some(namespace), Some(rule)),
            None => (body.namespace, None),
        };
        Self {
            name: body.name,
            webhooks,
            enabled: body.enabled,
            kind: body.kind,
            namespace,
            rule,
            customer: body.customer,
            thresholds_percent: body.thresholds_percent,
            share_percent: body.share_percent,
            window_s: body.window_s,
            checks_min: body.checks_min,
        }
    }

    /// The namespace and the name of the rule.
    pub fn rule(&self) -> Option<(String, String)> {
        let namespace = || self.namespace.clone().unwrap_or_else(default_namespace);
        self.rule.as_ref().map(|rule| (namespace(), rule.clone()))
    }

    /// The condition of the alert, or all problems of its fields. `rule_id` is the id of the rule, if that is known.
    pub fn condition(&self, rule_id: Option<RuleId>) -> Result<Condition, Vec<FieldProblem>> {
        let mut wrong = self.problems_of_names();
        let rule_id = self.rule.as_ref().map(|_| rule_id.unwrap_or(RuleId::from_u128(0)));
        let body = AlertBody {
            name: self.name.clone(),
            webhook_ids: Vec::new(),
            enabled: self.enabled,
            kind: self.kind,
            rule_id: rule_id.map(|id| id.to_string()),
            namespace: self.namespace.clone().filter(|_| self.rule.is_none()),
            customer: self.customer.clone(),
            thresholds_percent: self.thresholds_percent.clone(),
            share_percent: self.share_percent,
            window_s: self.window_s,
            checks_min: self.checks_min,
        };
        match body.condition() {
            Ok(condition) if wrong.is_empty() => Ok(condition),
            condition => {
                let of_condition = condition.err().unwrap_or_default().into_iter();
                let named =
                    |field: String| if field == "rule_id" { "rule".to_owned() } else { field };
                wrong.extend(
                    of_condition.map(|wrong| FieldProblem::new(named(wrong.field), wrong.reason)),
                );
                Err(wrong)
            }
        }
    }

    fn problems_of_names(&self) -> Vec<FieldProblem> {
        let mut wrong = Vec::new();
        if let Err(reason) = names::title(&self.name) {
            wrong.push(FieldProblem::new("name", reason));
        }
        if let Err(reason) = distinct_webhooks(&self.webhooks) {
            wrong.push(FieldProblem::new("webhooks", reason));
        }
        let is_long = |text: &String| !(1..=WEBHOOK_CHARS_MAX).contains(&text.chars().count());
        if self.webhooks.iter().any(is_long) {
            let reason = format!("must be 1 to {WEBHOOK_CHARS_MAX} characters each");
            wrong.push(FieldProblem::new("webhooks", reason));
        }
        if let Some((namespace, rule)) = self.rule() {
            if let Err(reason) = names::namespace(&namespace) {
                wrong.push(FieldProblem::new("namespace", reason));
            }
            if let Err(reason) = names::rule(&rule) {
                wrong.push(FieldProblem::new("rule", reason));
            }
        }
        wrong
    }
}

const fn yes() -> bool {
    true
}
