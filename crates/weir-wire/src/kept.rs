//! Kept checks as they are stored: written by gates, read for what-if runs.

use serde::{Deserialize, Serialize};
use weir_domain::sample::SamplePlan;

/// The recorded attributes, and the subjects formed of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPlan {
    /// The attributes, in the order of their values.
    pub attributes: Vec<String>,
    /// The attributes of each kind of subject.
    pub count_by: Vec<Vec<String>>,
}

/// Some checks. Equal attributes are written once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptChecks {
    /// Values of the plan's attributes.
    pub values: Vec<Vec<Option<String>>>,
    /// For each check: milliseconds after the first, which values, and the cost; what was given back is
    /// below 0.
    pub checks: Vec<(u32, u32, i64)>,
}

impl KeptPlan {
    /// As it is stored.
    pub fn of(plan: &SamplePlan) -> Self {
        Self { attributes: plan.attributes().to_vec(), count_by: plan.count_by().to_vec() }
    }

    /// Read back, for a namespace.
    pub fn plan(self, namespace: &str) -> SamplePlan {
        SamplePlan::new(namespace.to_owned(), self.attributes, self.count_by)
    }
}
