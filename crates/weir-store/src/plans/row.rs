//! The columns of a plan.

use std::collections::BTreeMap;

use serde_json::Value;

/// The columns that only plans have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanColumns {
    /// The name, unique in the tenant.
    pub name: String,
    /// The older revisions that some customers keep, as JSON.
    pub pinned: Value,
    /// The number of assignments that have not ended, by the revision that they keep. 0: the present one.
    pub customers: BTreeMap<u64, u64>,
}

impl PlanColumns {
    pub(super) fn new(name: String, pinned: Value, customers: Option<Value>) -> Self {
        let customers = customers.and_then(|customers| serde_json::from_value(customers).ok());
        Self { name, pinned, customers: customers.unwrap_or_default() }
    }
}

/// A statement that returns plans: `$head`, the columns, `$tail`.
macro_rules! query_plans {
    ($($statement:tt)+) => {
        $crate::specs::query_specs!(
            (
                weir_domain::id::PlanId,
                "plans",
                "concat_ws(' ', name, spec)",
                r#"name,
                pinned,
                (
                    SELECT jsonb_object_agg(a.pinned_revision, a.customers)
                    FROM (
                        SELECT n.pinned_revision, count(*) AS customers
                        FROM assignments n
                        WHERE n.tenant_id = plans.tenant_id AND n.plan_id = plans.id
                            AND (n.ends_at IS NULL OR n.ends_at > now())
                        GROUP BY n.pinned_revision
                    ) a
                ) AS customers"#
            ),
            |row| $crate::plans::row::PlanColumns::new(row.name, row.pinned, row.customers),
            $($statement)+
        )
    };
}
pub(super) use query_plans;
