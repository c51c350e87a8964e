//! Alerts in JSON.

use serde::{Deserialize, Deserializer, Serialize};
use weir_domain::alert::{Condition, ConditionDraft, Watched};

use crate::problem::FieldProblem;
use crate::rules::OperandBody;
use crate::time::DateTime;

/// The subject of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AlertKind {
    /// A subject has used a share of a quota; announced once per period, subject and threshold.
    Quota,
    /// A share of checks was denied; announced once per window.
    DenialShare,
}

/// An alert in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AlertBody {
    /// A name that people recognise the alert by.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 100))]
    pub name: String,
    /// The webhooks that receive the announcements: one to five. `webhook_id` with one of them says the same.
    #[serde(alias = "webhook_id", deserialize_with = "one_or_several")]
    pub webhook_ids: Vec<String>,
    /// Whether the alert is evaluated.
    #[serde(default = "yes")]
    #[cfg_attr(feature = "openapi", schema(default = true))]
    pub enabled: bool,
    /// The subject of the alert.
    pub kind: AlertKind,
    /// `quota`: the rule whose quotas are watched. `denial_share`: only decisions of this rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_id: Option<String>,
    /// `denial_share`: only requests of this namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
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

/// An alert in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Alert {
    /// `alert_…`
    pub id: String,
    /// The alert, with its defaults.
    #[serde(flatten)]
    pub body: AlertBody,
    /// The set of rules as code that the alert belongs to; null if people edit it.
    #[serde(default)]
    pub managed_by: Option<String>,
    /// Whether the alert differs from what the last apply of its set wrote.
    #[serde(default)]
    pub edited: bool,
    /// The time of the last announcement; null if there was none.
    pub fired_at: Option<DateTime>,
    /// The time of the first announcement since the condition last ended; null if it does not hold.
    #[serde(default)]
    pub firing_since: Option<DateTime>,
    /// The time until which the alert announces nothing; null or past if it is not muted.
    #[serde(default)]
    pub muted_until: Option<DateTime>,
    /// The person or key that created it.
    pub created_by: String,
    /// The time of creation.
    pub created_at: DateTime,
    /// The time of the last change.
    pub updated_at: DateTime,
}

/// `POST /tenants/{tenant}/alerts/{alert}/mute`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MuteBody {
    /// The time for which the alert announces nothing, in seconds; 0 ends it.
    #[cfg_attr(feature = "openapi", schema(example = 3600))]
    pub for_s: u32,
}

impl AlertBody {
    /// The condition of the alert, or all problems of its fields.
    pub fn condition(&self) -> Result<Condition, Vec<FieldProblem>> {
        let draft = ConditionDraft {
            kind: self.kind.as_str().to_owned(),
            rule_id: self.rule_id.clone(),
            namespace: self.namespace.clone(),
            customer: self.customer.clone(),
            thresholds_percent: self.thresholds_percent.clone(),
            share_percent: self.share_percent,
            window_s: self.window_s,
            checks_min: self.checks_min,
        };
        Condition::parse(&draft).map_err(FieldProblem::list)
    }

    /// The body of a stored alert.
    pub fn of(
        name: String,
        webhook_ids: Vec<String>,
        enabled: bool,
        condition: &Condition,
    ) -> Self {
        let mut body = Self {
            name,
            webhook_ids,
            enabled,
            kind: AlertKind::Quota,
            rule_id: None,
            namespace: None,
            customer: None,
            thresholds_percent: None,
            share_percent: None,
            window_s: None,
            checks_min: None,
        };
        match condition {
            Condition::Quota { rule_id, customer, thresholds_percent } => {
                body.rule_id = Some(rule_id.to_string());
                body.customer.clone_from(customer);
                let thresholds = thresholds_percent.iter().copied().map(u32::from).collect();
                body.thresholds_percent = Some(thresholds);
            }
            Condition::DenialShare { of, share_percent, window_s, checks_min } => {
                body.kind = AlertKind::DenialShare;
                match of {
                    Watched::Everything => {}
                    Watched::Namespace(name) => body.namespace = Some(name.clone()),
                    Watched::Rule(id) => body.rule_id = Some(id.to_string()),
                }
                body.share_percent = Some(u32::from(*share_percent));
                body.window_s = Some(*window_s);
                body.checks_min = Some(*checks_min);
            }
        }
        body
    }
}

/// A text, or a list of texts.
pub(crate) fn one_or_several<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    Ok(match OperandBody::deserialize(deserializer)? {
        OperandBody::One(text) => vec![text],
        OperandBody::Many(texts) => texts,
    })
}

impl AlertKind {
    /// The word used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::DenialShare => "denial_share",
        }
    }
}

const fn yes() -> bool {
    true
}
