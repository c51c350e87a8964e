//! The rules by their answer while Redis cannot be reached.

use weir_domain::id::{RuleId, TenantId};

use super::Rules;
use crate::convert::{unsigned, uuid};
use crate::error::StoreError;

/// The enforced rules with limits that have the same answer while Redis cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutageRules {
    /// The `on_store_failure` of the rules.
    pub answer: String,
    /// The number of rules.
    pub count: u64,
    /// The ids and names of the first ones, in the order of namespace and name.
    pub first: Vec<(RuleId, String)>,
}

impl Rules<'_> {
    /// Counts the enforced rules with limits by their answer, and names up to `named` of each.
    pub async fn by_outage_answer(
        self,
        tenant_id: TenantId,
        namespaces: Option<&[String]>,
        named: i32,
    ) -> Result<Vec<OutageRules>, StoreError> {
        let rows = sqlx::query!(
            r#"-- rules.by_outage_answer
            SELECT
                coalesce(spec ->> 'on_store_failure', 'allow') AS "answer!",
                count(*) AS "count!",
                (array_agg(id ORDER BY namespace COLLATE "C", name COLLATE "C"))[:$3] AS "ids!",
                (array_agg(name ORDER BY namespace COLLATE "C", name COLLATE "C"))[:$3] AS "names!"
            FROM rules
            WHERE tenant_id = $1
                AND ($2::text[] IS NULL OR namespace = ANY($2))
                AND coalesce(spec ->> 'action', 'limit') = 'limit'
                AND coalesce(spec ->> 'mode', 'enforce') = 'enforce'
            GROUP BY 1"#,
            uuid(tenant_id.to_u128()),
            namespaces,
            named,
        )
        .fetch_all(self.conn)
        .await?;
        let rules = rows.into_iter().map(|row| {
            let ids = row.ids.into_iter().map(|id| RuleId::from_u128(id.as_u128()));
            OutageRules {
                answer: row.answer,
                count: unsigned(row.count),
                first: ids.zip(row.names).collect(),
            }
        });
        Ok(rules.collect())
    }
}
