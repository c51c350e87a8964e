//! Customers of a tenant and their counts, in JSON.

use serde::{Deserialize, Serialize};

use crate::plans::AssignmentAnswer;

/// Most days of the usage of a customer in one answer.
pub const CUSTOMER_USAGE_DAYS_MAX: i32 = 400;

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
