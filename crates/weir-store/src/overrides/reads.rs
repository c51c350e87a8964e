//! Reads overrides.

use weir_domain::id::{OverrideId, RuleId, TenantId};

use super::row::query_overrides;
use super::{OverrideRow, Overrides};
use crate::connection::PooledConnection;
use crate::convert::{unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};

/// Restricts a list of overrides. A field that is `None` does not restrict it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OverrideFilter {
    /// Only overrides of this rule.
    pub rule_id: Option<RuleId>,
    /// Only overrides of the rules in these namespaces.
    pub namespaces: Option<Vec<String>>,
    /// Only overrides with this text in a value of their subject, in any case.
    pub subject: Option<String>,
}

impl OverrideFilter {
    /// The overrides of a rule.
    pub fn of_rule(rule_id: RuleId) -> Self {
        Self { rule_id: Some(rule_id), ..Self::default() }
    }
}

impl Overrides<'_> {
    /// Lists the overrides of a tenant, oldest first.
    pub async fn list(
        self,
        tenant_id: TenantId,
        filter: &OverrideFilter,
        page: &Page<OverrideId>,
    ) -> Result<Listing<OverrideRow>, StoreError> {
        let rows = query_overrides!(
            "-- overrides.list
            SELECT",
            "FROM overrides
            WHERE tenant_id = $1
                AND ($2::uuid IS NULL OR rule_id = $2)
                AND ($3::uuid IS NULL OR id > $3)
                AND (
                    $5::text IS NULL
                    OR EXISTS (
                        SELECT FROM jsonb_each_text(subject) AS attribute
                        WHERE strpos(lower(attribute.value), lower($5)) > 0
                    )
                )
                AND (
                    $6::text[] IS NULL
                    OR rule_id IN (
                        SELECT id FROM rules WHERE tenant_id = $1 AND namespace = ANY($6)
                    )
                )
            ORDER BY id
            LIMIT $4",
            uuid(tenant_id.to_u128()),
            filter.rule_id.map(|id| uuid(id.to_u128())),
            page.after.map(|id| uuid(id.to_u128())),
            page.fetch(),
            filter.subject,
            filter.namespaces.as_deref(),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(rows))
    }

    /// Returns the number of overrides that [`Self::list`] returns on all pages; `None` if the rule and the namespaces have
    /// more than `most`, which are not counted.
    pub async fn count_listed(
        self,
        tenant_id: TenantId,
        filter: &OverrideFilter,
        most: u64,
    ) -> Result<Option<u64>, StoreError> {
        let row = sqlx::query!(
            r#"-- overrides.count_listed
            SELECT
                count(*) AS "read!",
                count(*) FILTER (
                    WHERE
                        $3::text IS NULL
                        OR EXISTS (
                            SELECT FROM jsonb_each_text(subject) AS attribute
                            WHERE strpos(lower(attribute.value), lower($3)) > 0
                        )
                ) AS "listed!"
            FROM (
                SELECT subject FROM overrides
                WHERE tenant_id = $1
                    AND ($2::uuid IS NULL OR rule_id = $2)
                    AND (
                        $4::text[] IS NULL
                        OR rule_id IN (
                            SELECT id FROM rules WHERE tenant_id = $1 AND namespace = ANY($4)
                        )
                    )
                LIMIT $5
            ) searched"#,
            uuid(tenant_id.to_u128()),
            filter.rule_id.map(|id| uuid(id.to_u128())),
            filter.subject,
            filter.namespaces.as_deref(),
            i64::try_from(most).unwrap_or(i64::MAX).saturating_add(1),
        )
        .fetch_one(self.conn)
        .await?;
        Ok((unsigned(row.read) <= most).then(|| unsigned(row.listed)))
    }

    /// Returns the overrides of a rule for these subjects.
    pub async fn for_subjects(
        self,
        tenant_id: TenantId,
        rule_id: RuleId,
        subject_digests: &[[u8; 32]],
    ) -> Result<Vec<OverrideRow>, StoreError> {
        let digests: Vec<Vec<u8>> = subject_digests.iter().map(|digest| digest.to_vec()).collect();
        let rows = query_overrides!(
            "-- overrides.for_subjects
            SELECT",
            "FROM overrides
            WHERE tenant_id = $1 AND rule_id = $2 AND subject_digest = ANY ($3)
            ORDER BY id",
            uuid(tenant_id.to_u128()),
            uuid(rule_id.to_u128()),
            &digests,
        );
        Ok(rows.fetch_all(self.conn).await?)
    }

    /// Returns the overrides of a set of rules as code.
    pub async fn of_set(
        self,
        tenant_id: TenantId,
        set: &str,
    ) -> Result<Vec<OverrideRow>, StoreError> {
        let rows = query_overrides!(
            "-- overrides.of_set
            SELECT",
            "FROM overrides
            WHERE tenant_id = $1 AND managed_by = $2
            ORDER BY id",
            uuid(tenant_id.to_u128()),
            set,
        );
        Ok(rows.fetch_all(self.conn).await?)
    }

    /// Returns the number of overrides of a rule.
    pub async fn count_of_rule(
        self,
        tenant_id: TenantId,
        rule_id: RuleId,
    ) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"-- overrides.count_of_rule
            SELECT count(*) AS "count!" FROM overrides WHERE tenant_id = $1 AND rule_id = $2"#,
            uuid(tenant_id.to_u128()),
            uuid(rule_id.to_u128()),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(count))
    }

    /// Returns the number of overrides of a tenant.
    pub async fn count(self, tenant_id: TenantId) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"-- overrides.count
            SELECT count(*) AS "count!" FROM overrides WHERE tenant_id = $1"#,
            uuid(tenant_id.to_u128()),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(count))
    }
}

/// All overrides of a rule, including expired ones.
pub(crate) async fn of_rule(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    rule_id: RuleId,
) -> Result<Vec<OverrideRow>, StoreError> {
    let rows = query_overrides!(
        "-- overrides.of_rule
        SELECT",
        "FROM overrides
        WHERE tenant_id = $1 AND rule_id = $2
        ORDER BY id",
        uuid(tenant_id.to_u128()),
        uuid(rule_id.to_u128()),
    );
    Ok(rows.fetch_all(conn).await?)
}

/// All overrides of a namespace's rules, including expired ones.
pub(crate) async fn of_namespace(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    namespace: &str,
) -> Result<Vec<OverrideRow>, StoreError> {
    let rows = query_overrides!(
        "-- overrides.of_namespace
        SELECT",
        "FROM overrides
        WHERE
            tenant_id = $1
            AND rule_id IN (SELECT r.id FROM rules r WHERE r.tenant_id = $1 AND r.namespace = $2)
        ORDER BY id",
        uuid(tenant_id.to_u128()),
        namespace,
    );
    Ok(rows.fetch_all(conn).await?)
}
