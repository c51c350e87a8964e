//! What gates need of rules.

use weir_domain::id::{RuleId, TenantId};

use super::row::slot;
use crate::connection::PooledConnection;
use crate::error::StoreError;

/// What a gate needs of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedRule {
    /// Which.
    pub id: RuleId,
    /// Which counter each limit of the body keeps.
    pub slots: Vec<u32>,
    /// Its body as the API writes it, as text.
    pub spec: Box<str>,
}

/// What gates need of the rules written after `since`, of every tenant.
pub(crate) async fn of_rulebook(
    conn: &mut PooledConnection,
    since: i64,
) -> Result<Vec<(TenantId, ServedRule)>, StoreError> {
    let rows = sqlx::query!(
        r#"-- rules.of_rulebook
        SELECT
            tenant_id,
            id,
            slots,
            spec::text AS "spec!"
        FROM rules
        WHERE rulebook_version > $1
        ORDER BY tenant_id, id"#,
        since,
    )
    .fetch_all(conn)
    .await?;
    let rows = rows.into_iter().map(|row| {
        let id = RuleId::from_u128(row.id.as_u128());
        let slots = row.slots.into_iter().map(slot).collect();
        let rule = ServedRule { id, slots, spec: row.spec.into() };
        (TenantId::from_u128(row.tenant_id.as_u128()), rule)
    });
    Ok(rows.collect())
}

/// The rules that tenants still have that lost some after `since`.
pub(crate) async fn left(
    conn: &mut PooledConnection,
    since: i64,
) -> Result<Vec<(TenantId, RuleId)>, StoreError> {
    let rows = sqlx::query!(
        "-- rules.left
        SELECT
            r.tenant_id,
            r.id
        FROM tenants t
        JOIN rules r ON r.tenant_id = t.id
        WHERE t.version > $1 AND t.removed_version > $1
        ORDER BY r.tenant_id, r.id",
        since,
    )
    .fetch_all(conn)
    .await?;
    let rows = rows.into_iter().map(|row| {
        (TenantId::from_u128(row.tenant_id.as_u128()), RuleId::from_u128(row.id.as_u128()))
    });
    Ok(rows.collect())
}
