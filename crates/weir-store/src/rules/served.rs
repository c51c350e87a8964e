//! The columns of rules that gates load.

use uuid::Uuid;
use weir_domain::id::{RuleId, TenantId};

use super::row::slot;
use crate::connection::PooledConnection;
use crate::error::StoreError;

/// A rule as gates load it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedRule {
    /// The rule's id.
    pub id: RuleId,
    /// The counter slot of each limit, in the order of the body.
    pub slots: Vec<u32>,
    /// The body in the API's format, as text.
    pub spec: Box<str>,
}

struct Row {
    tenant_id: Uuid,
    id: Uuid,
    slots: Vec<i32>,
    spec: String,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`.
macro_rules! query_served {
    ($head:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + r#"
                r.tenant_id,
                r.id,
                r.slots,
                r.spec::text AS "spec!"
                "#
                + $tail
            $(, $argument)*
        )
    };
}

/// The rules of every tenant, or those that changed after version `since` of the rulebook.
pub(crate) async fn of_rulebook(
    conn: &mut PooledConnection,
    since: Option<i64>,
) -> Result<Vec<(TenantId, ServedRule)>, StoreError> {
    let rows = match since {
        None => {
            query_served!(
                "-- rules.of_rulebook
                SELECT",
                "FROM rules r
                ORDER BY r.tenant_id, r.id",
            )
            .fetch_all(conn)
            .await?
        }
        Some(since) => {
            query_served!(
                "-- rules.of_rulebook_since
                SELECT",
                "FROM tenant_changes c
                JOIN rules r ON r.tenant_id = c.tenant_id AND r.sequence = c.sequence
                WHERE c.rulebook_version > $1
                ORDER BY r.tenant_id, r.id",
                since,
            )
            .fetch_all(conn)
            .await?
        }
    };
    let rows = rows.into_iter().map(|row| {
        let id = RuleId::from_u128(row.id.as_u128());
        let slots = row.slots.into_iter().map(slot).collect();
        let rule = ServedRule { id, slots, spec: row.spec.into() };
        (TenantId::from_u128(row.tenant_id.as_u128()), rule)
    });
    Ok(rows.collect())
}

/// The ids of all rules of the tenants that lost a rule or an override after version `since` of the rulebook.
pub(crate) async fn remaining(
    conn: &mut PooledConnection,
    since: i64,
) -> Result<Vec<(TenantId, RuleId)>, StoreError> {
    let rows = sqlx::query!(
        "-- rules.remaining
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
