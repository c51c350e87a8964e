//! Lists of rules.

use weir_domain::id::{RuleId, TenantId};

use super::row::query_rules;
use super::{RuleRow, Rules};
use crate::convert::uuid;
use crate::error::StoreError;
use crate::page::{Listing, Page};

/// The sort key after which a page of rules starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleAfter {
    /// The namespace of the last rule of the previous page.
    pub namespace: String,
    /// The name of that rule.
    pub name: String,
}

/// Restricts a list of rules. A field that is `None` does not restrict it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleFilter {
    /// Only rules of these namespaces.
    pub namespaces: Option<Vec<String>>,
    /// Only rules whose `namespace/name` contains this text.
    pub search: Option<String>,
    /// Only rules with these ids.
    pub ids: Option<Vec<RuleId>>,
    /// Only rules with this feature.
    pub has: Option<RuleHas>,
}

/// An optional feature of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleHas {
    /// The rule counts by attributes.
    CountBy,
    /// One of its limits is a quota.
    Quota,
}

impl Rules<'_> {
    /// Returns the rule of a namespace with this name.
    pub async fn named(
        self,
        tenant_id: TenantId,
        namespace: &str,
        name: &str,
    ) -> Result<Option<RuleRow>, StoreError> {
        let row = query_rules!(
            "-- rules.named
            SELECT",
            "FROM rules
            WHERE tenant_id = $1 AND namespace = $2 AND name = $3",
            uuid(tenant_id.to_u128()),
            namespace,
            name,
        );
        Ok(row.fetch_optional(self.conn).await?)
    }

    /// Lists rules in the order of namespace and name.
    pub async fn list(
        self,
        tenant_id: TenantId,
        filter: &RuleFilter,
        page: &Page<RuleAfter>,
    ) -> Result<Listing<RuleRow>, StoreError> {
        let ids = filter.ids.as_ref().map(|ids| ids.iter().map(|id| uuid(id.to_u128())));
        let ids = ids.map(Iterator::collect::<Vec<_>>);
        let rows = query_rules!(
            "-- rules.list
            SELECT",
            r#"FROM rules
            WHERE tenant_id = $1
                AND ($2::text[] IS NULL OR namespace = ANY($2))
                AND ($3::text IS NULL OR strpos(namespace || '/' || name, lower($3)) > 0)
                AND (
                    $4::text IS NULL
                    OR (namespace COLLATE "C", name COLLATE "C") > ($4, $5)
                )
                AND ($7::uuid[] IS NULL OR id = ANY($7))
                AND (NOT $8 OR spec -> 'count_by' <> '[]')
                AND (NOT $9 OR spec @> '{"limits": [{"algorithm": "quota"}]}')
            ORDER BY namespace COLLATE "C", name COLLATE "C"
            LIMIT $6"#,
            uuid(tenant_id.to_u128()),
            filter.namespaces.as_deref(),
            filter.search.as_deref(),
            page.after.as_ref().map(|after| after.namespace.as_str()),
            page.after.as_ref().map(|after| after.name.as_str()),
            page.fetch(),
            ids.as_deref(),
            filter.has == Some(RuleHas::CountBy),
            filter.has == Some(RuleHas::Quota),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(rows))
    }

    /// Lists the rules that count by attributes of this list and by no other, in the order of namespace and name.
    pub async fn counting_by(
        self,
        tenant_id: TenantId,
        namespaces: Option<&[String]>,
        attributes: &[String],
        most: u32,
    ) -> Result<Vec<RuleRow>, StoreError> {
        let rows = query_rules!(
            "-- rules.counting_by
            SELECT",
            r#"FROM rules
            WHERE tenant_id = $1
                AND ($2::text[] IS NULL OR namespace = ANY($2))
                AND spec -> 'count_by' <> '[]'
                AND NOT EXISTS (
                    SELECT FROM jsonb_array_elements(spec -> 'count_by') AS counted
                    WHERE coalesce(counted ->> 'attribute', counted #>> '{}') <> ALL ($3)
                )
            ORDER BY namespace COLLATE "C", name COLLATE "C"
            LIMIT $4"#,
            uuid(tenant_id.to_u128()),
            namespaces,
            attributes,
            i64::from(most),
        );
        Ok(rows.fetch_all(self.conn).await?)
    }

    /// Returns the rules of these namespaces, and all rules of a set of rules as code.
    pub async fn of_set(
        self,
        tenant_id: TenantId,
        namespaces: &[String],
        set: &str,
    ) -> Result<Vec<RuleRow>, StoreError> {
        let rows = query_rules!(
            "-- rules.of_set
            SELECT",
            r#"FROM rules
            WHERE tenant_id = $1 AND (namespace = ANY($2) OR managed_by = $3)
            ORDER BY namespace COLLATE "C", name COLLATE "C"
            "#,
            uuid(tenant_id.to_u128()),
            namespaces,
            set,
        );
        Ok(rows.fetch_all(self.conn).await?)
    }
}
