//! Rules: the body as the API writes it, and the counters it keeps.

mod list;
mod patterns;
mod row;
mod served;

use weir_domain::id::{RuleId, TenantId};
use weir_domain::pattern_budget::PatternCost;
use weir_domain::time::Timestamp;

use crate::actor::Actor;
use crate::connection::PooledConnection;
use crate::convert::{signed, stored, unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};
use crate::rule_revisions::{self, RevisionRow};

pub use list::{RuleAfter, RuleFilter, RuleHas};
use patterns::narrow;
pub use row::RuleRow;
use row::{Row, query_rules, stored_slot, stored_slots};
pub use served::ServedRule;
pub(crate) use served::{of_rulebook, remaining};

/// What of a rule its author decides.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleBody {
    /// The group it belongs to.
    pub namespace: String,
    /// Its name there.
    pub name: String,
    /// Its body as the API writes it.
    pub spec: serde_json::Value,
    /// Which counter each limit of the body keeps.
    pub slots: Vec<u32>,
    /// The next counter never used.
    pub next_slot: u32,
    /// What its regular expressions cost.
    pub patterns: PatternCost,
}

/// A rule to be written.
#[derive(Debug, Clone)]
pub struct RuleWrite {
    /// Whose.
    pub tenant_id: TenantId,
    /// Which.
    pub id: RuleId,
    /// What.
    pub body: RuleBody,
    /// When.
    pub now: Timestamp,
}

/// How many rules there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleCounts {
    /// In all namespaces.
    pub in_tenant: u64,
    /// In the one asked for.
    pub in_namespace: u64,
}

/// The table of rules.
#[derive(Debug)]
pub struct Rules<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Rules<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Makes a rule and its first revision.
    pub async fn insert(self, new: &RuleWrite, actor: &Actor) -> Result<RuleRow, StoreError> {
        let row: RuleRow = query_rules!(
            "-- rules.insert
            INSERT INTO rules (
                tenant_id,
                id,
                namespace,
                name,
                spec,
                slots,
                next_slot,
                revision,
                created_at,
                updated_at,
                patterns,
                pattern_bytes
            )
            VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $8, $9, $10)
            RETURNING",
            "",
            uuid(new.tenant_id.to_u128()),
            uuid(new.id.to_u128()),
            new.body.namespace,
            new.body.name,
            new.body.spec,
            &stored_slots(&new.body.slots),
            stored_slot(new.body.next_slot),
            stored(new.now),
            narrow(new.body.patterns.patterns),
            signed(new.body.patterns.bytes),
        )
        .fetch_one(&mut *self.conn)
        .await?
        .into();
        rule_revisions::insert(self.conn, None, &row, actor).await?;
        Ok(row)
    }

    /// Writes a rule again, if nobody did since the caller read it, and keeps what it was.
    pub async fn update(
        self,
        write: &RuleWrite,
        expected_revision: u64,
        actor: &Actor,
    ) -> Result<Option<RuleRow>, StoreError> {
        let before = match lock(self.conn, write.tenant_id, write.id).await? {
            None => return Ok(None),
            Some(row) if row.revision != expected_revision => return Err(StoreError::Stale),
            Some(row) => row.spec,
        };
        let row: RuleRow = query_rules!(
            "-- rules.update
            UPDATE rules
            SET
                namespace = $3,
                name = $4,
                spec = $5,
                slots = $6,
                next_slot = $7,
                revision = revision + 1,
                updated_at = $8,
                patterns = $9,
                pattern_bytes = $10
            WHERE tenant_id = $1 AND id = $2
            RETURNING",
            "",
            uuid(write.tenant_id.to_u128()),
            uuid(write.id.to_u128()),
            write.body.namespace,
            write.body.name,
            write.body.spec,
            &stored_slots(&write.body.slots),
            stored_slot(write.body.next_slot),
            stored(write.now),
            narrow(write.body.patterns.patterns),
            signed(write.body.patterns.bytes),
        )
        .fetch_one(&mut *self.conn)
        .await?
        .into();
        rule_revisions::insert(self.conn, Some(&before), &row, actor).await?;
        Ok(Some(row))
    }

    /// Deletes a rule with its overrides and revisions, and answers what it was.
    pub async fn delete(
        self,
        tenant_id: TenantId,
        id: RuleId,
        expected_revision: Option<u64>,
    ) -> Result<Option<RuleRow>, StoreError> {
        let Some(row) = lock(self.conn, tenant_id, id).await? else {
            return Ok(None);
        };
        if expected_revision.is_some_and(|expected| expected != row.revision) {
            return Err(StoreError::Stale);
        }
        sqlx::query!(
            "-- rules.delete
            DELETE FROM rules WHERE tenant_id = $1 AND id = $2",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .execute(self.conn)
        .await?;
        Ok(Some(row))
    }

    /// The rule with this id.
    pub async fn find(
        self,
        tenant_id: TenantId,
        id: RuleId,
    ) -> Result<Option<RuleRow>, StoreError> {
        let row = query_rules!(
            "-- rules.find
            SELECT",
            "FROM rules
            WHERE tenant_id = $1 AND id = $2",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(RuleRow::from))
    }

    /// How many rules a tenant has, in all and in one namespace.
    pub async fn count(
        self,
        tenant_id: TenantId,
        namespace: &str,
    ) -> Result<RuleCounts, StoreError> {
        let row = sqlx::query!(
            r#"-- rules.count
            SELECT
                count(*) AS "in_tenant!",
                count(*) FILTER (WHERE namespace = $2) AS "in_namespace!"
            FROM rules
            WHERE tenant_id = $1"#,
            uuid(tenant_id.to_u128()),
            namespace,
        )
        .fetch_one(self.conn)
        .await?;
        Ok(RuleCounts {
            in_tenant: unsigned(row.in_tenant),
            in_namespace: unsigned(row.in_namespace),
        })
    }

    /// How many limits the other rules of a namespace have that are in force, or shadow, and without conditions.
    pub async fn unconditional_limits(
        self,
        tenant_id: TenantId,
        namespace: &str,
        except: Option<RuleId>,
    ) -> Result<u64, StoreError> {
        let limits = sqlx::query_scalar!(
            r#"-- rules.unconditional_limits
            SELECT coalesce(sum(jsonb_array_length(spec -> 'limits')), 0)::bigint AS "limits!"
            FROM rules
            WHERE
                tenant_id = $1
                AND namespace = $2
                AND id IS DISTINCT FROM $3
                AND spec -> 'match' = '[]'::jsonb
                AND spec ->> 'mode' <> 'off'"#,
            uuid(tenant_id.to_u128()),
            namespace,
            except.map(|it| uuid(it.to_u128())),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(limits))
    }

    /// What a rule was, newest first; the page starts before a revision.
    pub async fn revisions(
        self,
        tenant_id: TenantId,
        id: RuleId,
        page: &Page<u64>,
    ) -> Result<Listing<RevisionRow>, StoreError> {
        rule_revisions::list(self.conn, tenant_id, id, page).await
    }

    /// Keeps the newest `most` revisions of a rule of the tenant in scope. Returns how many were removed.
    pub async fn keep_revisions(self, id: RuleId, most: u64) -> Result<u64, StoreError> {
        rule_revisions::keep(self.conn, id, most).await
    }

    /// What a rule was at one revision.
    pub async fn revision(
        self,
        tenant_id: TenantId,
        id: RuleId,
        revision: u64,
    ) -> Result<Option<RevisionRow>, StoreError> {
        rule_revisions::find(self.conn, tenant_id, id, revision).await
    }
}

/// All rules of a namespace.
pub(crate) async fn of_namespace(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    namespace: &str,
) -> Result<Vec<RuleRow>, StoreError> {
    let rows = query_rules!(
        "-- rules.of_namespace
        SELECT",
        "FROM rules
        WHERE tenant_id = $1 AND namespace = $2
        ORDER BY id",
        uuid(tenant_id.to_u128()),
        namespace,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(RuleRow::from).collect())
}

async fn lock(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    id: RuleId,
) -> Result<Option<RuleRow>, StoreError> {
    let row = query_rules!(
        "-- rules.lock
        SELECT",
        "FROM rules
        WHERE tenant_id = $1 AND id = $2
        FOR UPDATE",
        uuid(tenant_id.to_u128()),
        uuid(id.to_u128()),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(RuleRow::from))
}
