//! Finding the objects of a tenant by a part of their names.

use uuid::Uuid;
use weir_domain::id::{AuditId, TenantId};

use crate::connection::PooledConnection;
use crate::convert::uuid;
use crate::error::StoreError;

/// Restricts a search.
#[derive(Debug, Clone, Copy)]
pub struct SearchFilter<'f> {
    /// The tenant that owns the objects.
    pub tenant_id: TenantId,
    /// The text to find, in any case.
    pub text: &'f str,
    /// Whether the URLs of webhooks are searched and returned.
    pub urls: bool,
    /// Whether API keys are searched.
    pub keys: bool,
    /// The audit entry to find.
    pub audit_id: Option<AuditId>,
    /// The most objects of each kind.
    pub limit: u32,
}

/// An object that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundObject {
    /// `alert`, `webhook`, `member`, `key` or `audit`.
    pub kind: String,
    /// The id; of a member the id of the user.
    pub id: u128,
    /// The name; of an audit entry the id of its request.
    pub name: String,
    /// An e-mail address, a URL, the beginning of a key or an action; empty for alerts.
    pub detail: String,
}

/// Searches over several tables. Each has a bounded number of rows of a tenant, and an index that begins with it.
#[derive(Debug)]
pub struct Search<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Search<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Lists alerts, webhooks, members and keys with the text in their name, URL or e-mail address, and one audit entry.
    pub async fn objects(self, filter: &SearchFilter<'_>) -> Result<Vec<FoundObject>, StoreError> {
        let audit_id: Option<Uuid> = filter.audit_id.map(|id| uuid(id.to_u128()));
        let rows = sqlx::query!(
            r#"-- search.objects
            (
                SELECT 'alert' AS "kind!", id AS "id!", name AS "name!", '' AS "detail!"
                FROM alerts
                WHERE tenant_id = $1 AND strpos(lower(name), lower($2)) > 0
                ORDER BY id DESC LIMIT $3
            )
            UNION ALL
            (
                SELECT 'webhook', id, name, CASE WHEN $4 THEN coalesce(url, '') ELSE '' END
                FROM webhooks
                WHERE tenant_id = $1 AND (
                    strpos(lower(name), lower($2)) > 0
                    OR ($4 AND strpos(lower(url), lower($2)) > 0)
                )
                ORDER BY id DESC LIMIT $3
            )
            UNION ALL
            (
                SELECT 'member', u.id, u.name, u.email
                FROM memberships m JOIN users u ON u.id = m.user_id
                WHERE m.tenant_id = $1 AND (
                    strpos(lower(u.name), lower($2)) > 0 OR strpos(u.email, lower($2)) > 0
                )
                ORDER BY u.id LIMIT $3
            )
            UNION ALL
            (
                SELECT 'key', id, name, hint
                FROM api_keys
                WHERE $5 AND tenant_id = $1 AND revoked_at IS NULL
                    AND strpos(lower(name), lower($2)) > 0
                ORDER BY id DESC LIMIT $3
            )
            UNION ALL
            (
                SELECT 'audit', id, request_id, action
                FROM audit_entries
                WHERE tenant_id = $1 AND id = $6
            )"#,
            uuid(filter.tenant_id.to_u128()),
            filter.text,
            i64::from(filter.limit),
            filter.urls,
            filter.keys,
            audit_id,
        )
        .fetch_all(self.conn)
        .await?;
        let found = rows.into_iter().map(|row| FoundObject {
            kind: row.kind,
            id: row.id.as_u128(),
            name: row.name,
            detail: row.detail,
        });
        Ok(found.collect())
    }

    /// Lists the attributes by which alone rules count, those of the most rules first.
    pub async fn attributes(
        self,
        tenant_id: TenantId,
        namespaces: Option<&[String]>,
        limit: u32,
    ) -> Result<Vec<String>, StoreError> {
        let names = sqlx::query_scalar!(
            r#"-- search.attributes
            SELECT coalesce(spec -> 'count_by' -> 0 ->> 'attribute', spec -> 'count_by' ->> 0) AS "name!"
            FROM rules
            WHERE tenant_id = $1 AND ($2::text[] IS NULL OR namespace = ANY($2))
                AND jsonb_array_length(spec -> 'count_by') = 1
            GROUP BY 1
            ORDER BY count(*) DESC, 1
            LIMIT $3"#,
            uuid(tenant_id.to_u128()),
            namespaces,
            i64::from(limit),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(names)
    }
}
