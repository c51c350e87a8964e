//! The columns of overrides that gates load.

use uuid::Uuid;
use weir_domain::id::{OverrideId, RuleId, TenantId};

use crate::connection::PooledConnection;
use crate::error::StoreError;

/// An override as gates load it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedOverride {
    /// The override's id.
    pub id: OverrideId,
    /// The rule.
    pub rule_id: RuleId,
    /// The override in the API's format, as text.
    pub spec: Box<str>,
}

struct Row {
    tenant_id: Uuid,
    id: Uuid,
    rule_id: Uuid,
    spec: String,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`.
macro_rules! query_served {
    ($head:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + r#"
                o.tenant_id,
                o.id,
                o.rule_id,
                o.spec::text AS "spec!"
                "#
                + $tail
            $(, $argument)*
        )
    };
}

/// The overrides of every tenant, or those that changed after version `since` of the rulebook.
pub(crate) async fn of_rulebook(
    conn: &mut PooledConnection,
    since: Option<i64>,
) -> Result<Vec<(TenantId, ServedOverride)>, StoreError> {
    let rows = match since {
        None => {
            query_served!(
                "-- overrides.of_rulebook
                SELECT",
                "FROM overrides o
                ORDER BY o.tenant_id, o.id",
            )
            .fetch_all(conn)
            .await?
        }
        Some(since) => {
            query_served!(
                "-- overrides.of_rulebook_since
                SELECT",
                "FROM tenant_changes c
                JOIN overrides o ON o.tenant_id = c.tenant_id AND o.sequence = c.sequence
                WHERE c.rulebook_version > $1
                ORDER BY o.tenant_id, o.id",
                since,
            )
            .fetch_all(conn)
            .await?
        }
    };
    let rows = rows.into_iter().map(|row| {
        let id = OverrideId::from_u128(row.id.as_u128());
        let rule_id = RuleId::from_u128(row.rule_id.as_u128());
        let served = ServedOverride { id, rule_id, spec: row.spec.into() };
        (TenantId::from_u128(row.tenant_id.as_u128()), served)
    });
    Ok(rows.collect())
}

/// The ids of all overrides of the tenants that lost a rule or an override after version `since` of the rulebook.
pub(crate) async fn remaining(
    conn: &mut PooledConnection,
    since: i64,
) -> Result<Vec<(TenantId, OverrideId)>, StoreError> {
    let rows = sqlx::query!(
        "-- overrides.remaining
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
