//! The stored form of recorded checks: gates write it, and what-if runs read it.

use serde::{Deserialize, Serialize};
use weir_domain::sample::SamplePlan;

use crate::counted::CountedBody;

/// The recorded attributes, and the subjects formed of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPlan {
    /// The attributes, in the order of their values.
    pub attributes: Vec<String>,
    /// The attributes of each kind of subject.
    pub count_by: Vec<Vec<CountedBody>>,
}

/// Recorded checks. Equal attributes are written once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedChecks {
    /// Values of the plan's attributes.
    pub values: Vec<Vec<Option<String>>>,
    /// For each check: milliseconds after the first, the index of the values, and the cost; a refund is
    /// below 0.
    pub checks: Vec<(u32, u32, i64)>,
}

impl RecordedPlan {
    /// The stored form of a plan.
    pub fn of(plan: &SamplePlan) -> Self {
        let count_by = plan.count_by().iter().map(|counted| counted.iter().cloned());
        Self {
            attributes: plan.attributes().to_vec(),
            count_by: count_by.map(|counted| counted.map(CountedBody::from).collect()).collect(),
        }
    }

    /// The plan for a namespace.
    pub fn plan(self, namespace: &str) -> SamplePlan {
        let count_by = self.count_by.into_iter().map(|counted| counted.into_iter().map(Into::into));
        let count_by = count_by.map(Iterator::collect).collect();
        SamplePlan::new(namespace.to_owned(), self.attributes, count_by)
    }
}
