//! Customers of a tenant, their counts, and their own view of their usage, in JSON.

use serde::{Deserialize, Serialize};
use weir_domain::customers::CustomerView;
use weir_domain::names;

use crate::limits::AlgorithmName;
use crate::plans::AssignmentAnswer;
use crate::problem::FieldProblem;
use crate::subjects::NearLimit;
use crate::time::DateTime;

/// Most days of the usage of a customer in one answer.
pub const CUSTOMER_USAGE_DAYS_MAX: i32 = 400;
/// Most seconds for which a token of a customer is valid.
pub const VIEW_TOKEN_S_MAX: u64 = 3_600;
/// Most origins of pages that read the usage in a browser.
pub const VIEW_ORIGINS_MAX: usize = 20;
/// Most rules that customers do not see.
pub const HIDDEN_RULES_MAX: usize = 200;
/// Most characters of the title above the usage.
pub const VIEW_TITLE_CHARS_MAX: usize = 80;
/// Most bytes of the logo, as a data URL.
pub const VIEW_LOGO_BYTES_MAX: usize = 32 * 1_024;

/// A customer in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CustomerEntry {
    /// The customer: the value of the customer attribute in checks.
    pub customer: String,
    /// The plan of the customer; null: it is on none.
    pub plan: Option<PlanName>,
    /// Its counts of this day of UTC.
    pub today: CustomerCounts,
    /// Its counts of the last seven days of UTC, the oldest first. The last ones are those of today.
    pub last_7_days: Vec<CustomerCounts>,
    /// With `used=true`: the limit of which it has used the greatest share now, of the rules that count by the customer attribute alone.
    /// Its `remaining` is null if the counters of a rule could not be read. Left out if no rule limits the customer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_used: Option<NearLimit>,
}

/// A plan by its id and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanName {
    /// `plan_…`
    pub id: String,
    /// The name.
    pub name: String,
}

/// Counts of a customer's checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CustomerCounts {
    /// Allowed checks.
    pub allowed: u64,
    /// Denied checks.
    pub denied: u64,
    /// The units of allowed checks, records and commits, less refunded ones. Units that a reservation holds count when it is
    /// committed. Negative on a day that refunds more than it uses.
    pub units: i64,
}

/// A customer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CustomerAnswer {
    /// The customer.
    pub customer: String,
    /// The plan of the customer; null: it is on none.
    pub plan: Option<PlanName>,
    /// Its assignments, newest first: at most 50.
    pub assignments: Vec<AssignmentAnswer>,
    /// Its counts of this day of UTC.
    pub today: CustomerCounts,
}

/// The counts of a customer by day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CustomerUsage {
    /// The days on which it had checks, in order.
    pub days: Vec<CustomerDay>,
    /// False if on one of the days the tenant had more customers than its ceiling: the counts of the smallest are then summed without
    /// their names, so those of this customer may lack a part.
    pub complete: bool,
}

/// The counts of a customer on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CustomerDay {
    /// The day of UTC, `YYYY-MM-DD`.
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub day: String,
    /// The counts of whole checks.
    #[serde(flatten)]
    pub counts: CustomerCounts,
    /// The counts of each rule that applied.
    pub rules: Vec<CustomerRuleCounts>,
}

/// The counts of a customer for one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CustomerRuleCounts {
    /// `rule_…`
    pub rule_id: String,
    /// The namespace of the rule; null: the rule is deleted.
    pub namespace: Option<String>,
    /// The name of the rule; null: the rule is deleted.
    pub rule: Option<String>,
    /// Decisions of this rule. Denials in shadow mode count neither as allowed nor as denied.
    #[serde(flatten)]
    pub counts: CustomerCounts,
}

/// The customers' own view of their usage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CustomerViewBody {
    /// The title above the usage; at most 80 characters. Left out or null: the name of the tenant.
    #[serde(default)]
    pub title: Option<String>,
    /// The color of bars, `#rrggbb`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(example = "#0a7d55"))]
    pub color: Option<String>,
    /// The logo: a data URL of a PNG, JPEG or WebP image of at most 32 KiB.
    #[serde(default)]
    pub logo: Option<String>,
    /// The origins of pages that can read the usage in a browser, at most 20. The dashboard always can.
    #[serde(default)]
    pub origins: Vec<String>,
    /// The rules that customers do not see, at most 200.
    #[serde(default)]
    pub hidden_rules: Vec<HiddenRule>,
}

/// A rule that customers do not see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct HiddenRule {
    /// The namespace of the rule.
    pub namespace: String,
    /// The name of the rule.
    pub rule: String,
}

/// The stored form: the body, and the public keys that verify tokens. Gates get it without the logo.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCustomerView {
    /// The body.
    pub view: CustomerViewBody,
    /// The public keys, as hexadecimal digits.
    pub keys: Vec<String>,
}

/// A request for a token of a customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ViewTokenBody {
    /// The seconds for which the token is valid, from 1 to 3,600.
    #[serde(default = "default_ttl_s")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3_600, default = 900))]
    pub ttl_s: u64,
}

/// A token with which a customer reads its own usage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ViewTokenAnswer {
    /// The token. It is not stored.
    pub token: String,
    /// The time from which it is refused.
    pub expires_at: DateTime,
    /// The version of the rulebook from which gates accept it. Only the first token of a tenant, and the first after a new signing key,
    /// raise it.
    pub rulebook_version: u64,
}

/// The page of a customer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CustomerPage {
    /// The customer.
    pub customer: String,
    /// The title.
    pub title: String,
    /// The color of bars, `#rrggbb`.
    pub color: Option<String>,
    /// The logo, a data URL.
    pub logo: Option<String>,
    /// The addresses of the gates that can be asked for the usage.
    pub gates: Vec<String>,
}

/// The usage of a customer now, from the counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CustomerLimits {
    /// The customer.
    pub customer: String,
    /// The name of its plan; null: it is on none.
    pub plan: Option<String>,
    /// The limits of the rules that count by the customer attribute alone, but for hidden ones.
    pub limits: Vec<CustomerLimit>,
    /// The time of the counters, by Redis' clock; at most a second ago.
    pub at: DateTime,
}

/// One limit of a customer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CustomerLimit {
    /// The name of the rule.
    pub rule: String,
    /// The description of the rule; empty if it has none.
    pub description: String,
    /// The algorithm.
    pub algorithm: AlgorithmName,
    /// The limit, the capacity, or 1 for spacing.
    pub limit: u64,
    /// Used units.
    pub used: u64,
    /// Whole units left.
    pub remaining: u64,
    /// The time until the counter is unused again; null if it never renews.
    pub reset_after_ms: Option<u64>,
}

impl CustomerViewBody {
    /// All problems of its fields.
    pub fn problems(&self) -> Vec<FieldProblem> {
        let mut wrong = Vec::new();
        let mut refuse = |field: &str, reason: String| wrong.push(FieldProblem::new(field, reason));
        if let Some(Err(reason)) =
            self.title.as_deref().map(|title| names::prose(title, VIEW_TITLE_CHARS_MAX))
        {
            refuse("title", reason);
        }
        if self.color.as_deref().is_some_and(|color| !is_color(color)) {
            refuse(
                "color",
                "must be six hexadecimal digits after `#`, such as `#0a7d55`".to_owned(),
            );
        }
        if self.logo.as_deref().is_some_and(|logo| !is_logo(logo)) {
            let reason = format!(
                "must be a data URL of a PNG, JPEG or WebP image of at most {VIEW_LOGO_BYTES_MAX} bytes"
            );
            refuse("logo", reason);
        }
        if self.origins.len() > VIEW_ORIGINS_MAX {
            refuse("origins", format!("must hold at most {VIEW_ORIGINS_MAX} origins"));
        }
        for (at, _) in self.origins.iter().enumerate().filter(|(_, origin)| !is_origin(origin)) {
            let reason = "must be an origin such as `https://example.com`".to_owned();
            refuse(&format!("origins[{at}]"), reason);
        }
        if self.hidden_rules.len() > HIDDEN_RULES_MAX {
            refuse("hidden_rules", format!("must hold at most {HIDDEN_RULES_MAX} rules"));
        }
        for (at, hidden) in self.hidden_rules.iter().enumerate() {
            if let Err(reason) = names::namespace(&hidden.namespace) {
                refuse(&format!("hidden_rules[{at}].namespace"), reason.to_owned());
            }
            if let Err(reason) = names::rule(&hidden.rule) {
                refuse(&format!("hidden_rules[{at}].rule"), reason.to_owned());
            }
        }
        wrong
    }
}

/// The form that gates use of the stored one. Parts that cannot be read are left out, so a token that they would verify is refused.
pub(crate) fn served_view(text: &str) -> CustomerView {
    let stored: StoredCustomerView = serde_json::from_str(text).unwrap_or_default();
    CustomerView {
        text: text.into(),
        origins: stored.view.origins,
        hidden_rules: stored
            .view
            .hidden_rules
            .into_iter()
            .map(|one| (one.namespace, one.rule))
            .collect(),
        keys: stored.keys.iter().filter_map(|digits| public_key(digits)).collect(),
    }
}

fn public_key(digits: &str) -> Option<[u8; 32]> {
    let mut key = [0; 32];
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(key)
}

fn is_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or_default();
    digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_logo(text: &str) -> bool {
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let data = ["png", "jpeg", "webp"]
        .iter()
        .find_map(|kind| text.strip_prefix(&format!("data:image/{kind};base64,")));
    text.len() <= VIEW_LOGO_BYTES_MAX
        && data.is_some_and(|data| !data.is_empty() && data.bytes().all(base64))
}

/// Whether the text is an origin as browsers send it.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.:[]".contains(&byte);
    host.is_some_and(|host| {
        (1..=260).contains(&host.len()) && host.bytes().all(allowed) && !host.ends_with(':')
    })
}

fn default_ttl_s() -> u64 {
    900
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_field_of_a_view_is_named() {
        let hidden = |namespace: &str, rule: &str| HiddenRule {
            namespace: namespace.to_owned(),
            rule: rule.to_owned(),
        };
        let wrong = CustomerViewBody {
            title: Some("x".repeat(81)),
            color: Some("#12345g".to_owned()),
            logo: Some("data:image/svg+xml;base64,AAAA".to_owned()),
            origins: ["https://a.example", "https://a.example/", "ftp://a", "https://A"]
                .map(str::to_owned)
                .into(),
            hidden_rules: vec![hidden("api", "a"), hidden("API", "-")],
        };
        let fields: Vec<_> = wrong.problems().into_iter().map(|problem| problem.field).collect();
        let expected = [
            "title",
            "color",
            "logo",
            "origins[1]",
            "origins[2]",
            "origins[3]",
            "hidden_rules[1].namespace",
            "hidden_rules[1].rule",
        ];
        assert_eq!(fields, expected);
        let right = CustomerViewBody {
            title: Some("Acme API".to_owned()),
            color: Some("#0A7d55".to_owned()),
            logo: Some("data:image/png;base64,AAAA".to_owned()),
            origins: vec!["http://localhost:3000".to_owned(), "https://[::1]".to_owned()],
            hidden_rules: Vec::new(),
        };
        assert_eq!(right.problems(), []);
        let large = format!("data:image/png;base64,{}", "A".repeat(VIEW_LOGO_BYTES_MAX));
        let large = CustomerViewBody { logo: Some(large), ..right };
        assert_eq!(large.problems()[0].field, "logo");
    }

    #[test]
    fn served_form_has_the_keys_that_can_be_read() {
        let keys = vec!["0a".repeat(32), "xy".repeat(32), "ä".repeat(32)];
        let stored = StoredCustomerView { view: CustomerViewBody::default(), keys };
        let text = serde_json::to_string(&stored).expect("plain data");
        assert_eq!(served_view(&text).keys, [[10; 32]]);
        assert_eq!(served_view("damaged").keys, [] as [[u8; 32]; 0]);
    }
}
