//! What gates need of overrides.

use weir_domain::id::{OverrideId, RuleId, TenantId};

use crate::connection::PooledConnection;
use crate::error::StoreError;

/// What a gate needs of an override.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedOverride {
    /// Which.
    pub id: OverrideId,
    /// Of which rule.
    pub rule_id: RuleId,
    /// The override as the API writes it, as text.
    pub spec: Box<str>,
}

/// What gates need of the overrides written after `since`, of every tenant.
pub(crate) async fn of_rulebook(
    conn: &mut PooledConnection,
    since: i64,
) -> Result<Vec<(TenantId, ServedOverride)>, StoreError> {
    let rows = sqlx::query!(
        r#"-- overrides.of_rulebook
        SELECT
            tenant_id,
            id,
            rule_id,
            spec::text AS "spec!"
        FROM overrides
        WHERE rulebook_version > $1
        ORDER BY tenant_id, id"#,
        since,
    )
    .fetch_all(conn)
    .await?;
    let rows = rows.into_iter().map(|row| {
        let id = OverrideId::from_u128(row.id.as_u128());
        let rule_id = RuleId::from_u128(row.rule_id.as_u128());
        let served = ServedOverride { id, rule_id, spec: row.spec.into() };
        (TenantId::from_u128(row.tenant_id.as_u128()), served)
    });
    Ok(rows.collect())
}

/// The overrides that tenants still have that lost something after `since`.
pub(crate) async fn left(
    conn: &mut PooledConnection,
    since: i64,
) -> Result<Vec<(TenantId, OverrideId)>, StoreError> {
    let rows = sqlx::query!(
        "-- overrides.left
        SELECT
            o.tenant_id,
            o.id
        FROM tenants t
        JOIN overrides o ON o.tenant_id = t.id
        WHERE t.version > $1 AND t.removed_version > $1
        ORDER BY o.tenant_id, o.id",
        since,
    )
    .fetch_all(conn)
    .await?;
    let rows = rows.into_iter().map(|row| {
        (TenantId::from_u128(row.tenant_id.as_u128()), OverrideId::from_u128(row.id.as_u128()))
    });
    Ok(rows.collect())
}
