//! Plans, on which customers are.

mod row;
mod served;

use serde_json::Value;
use weir_domain::id::{PlanId, TenantId};

use crate::actor::Actor;
use crate::connection::PooledConnection;
use crate::convert::{all, signed, stored, unsigned, uuid};
use crate::error::StoreError;
use crate::message::statement;
use crate::page::{Listing, Page};
use crate::revisions::{RevisionRow, revised, revision_writes};
use crate::served::TenantRange;
use crate::specs::{Revised, Spec, SpecRow, SpecWrite, Specs, spec_statements};

pub use row::PlanColumns;
use row::query_plans;
pub use served::ServedPlan;
pub(crate) use served::{changed, changed_statement, of_tenants, remaining, remaining_statement};

/// The fields of a plan that its author sets.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanBody {
    /// The name, unique in the tenant.
    pub name: String,
    /// The body in the API's format.
    pub spec: Value,
    /// The older revisions that some customers keep, as JSON.
    pub pinned: Value,
}

/// The kind of plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanSpec;

/// A plan.
pub type PlanRow = SpecRow<PlanSpec>;
/// A plan to be inserted or updated.
pub type PlanWrite = SpecWrite<PlanSpec>;
/// The table of plans.
pub type Plans<'t> = Specs<'t, PlanSpec>;

/// A statement that writes a plan and returns it.
macro_rules! write_plan {
    ($write:ident, $sql:literal $(, $more:expr)?) => {
        query_plans!(
            $sql,
            "",
            uuid($write.tenant_id.to_u128()),
            uuid($write.id.to_u128()),
            $write.body.name,
            $write.body.spec,
            stored($write.now),
            $write.managed_by.as_deref(),
            $write.body.pinned
            $(, $more)?
        )
    };
}

impl Spec for PlanSpec {
    type Id = PlanId;
    type Columns = PlanColumns;
    type Body = PlanBody;

    spec_statements!("plans", query_plans);
    revision_writes!("plan_revisions", "plan_id", "weir_keep_plan_revisions");

    async fn insert(conn: &mut PooledConnection, new: &PlanWrite) -> Result<PlanRow, StoreError> {
        let inserted = write_plan!(
            new,
            "-- plans.insert
            INSERT INTO plans (
                tenant_id,
                id,
                name,
                spec,
                revision,
                created_at,
                updated_at,
                managed_by,
                pinned,
                applied_digest
            )
            VALUES (
                $1, $2, $3, $4, 1, $5, $5, $6, $7,
                CASE WHEN $6::text IS NOT NULL THEN md5(concat_ws(' ', $3::text, $4::jsonb)) END
            )
            RETURNING"
        );
        Ok(inserted.fetch_one(conn).await?)
    }

    async fn update(
        conn: &mut PooledConnection,
        write: &PlanWrite,
        revision: u64,
    ) -> Result<Option<PlanRow>, StoreError> {
        let updated = write_plan!(
            write,
            "-- plans.update
            UPDATE plans
            SET
                name = $3,
                spec = $4,
                revision = revision + 1,
                updated_at = $5,
                managed_by = coalesce($6, managed_by),
                pinned = $7,
                applied_digest = CASE
                    WHEN $6::text IS NULL THEN applied_digest
                    ELSE md5(concat_ws(' ', $3::text, $4::jsonb))
                END
            WHERE tenant_id = $1 AND id = $2 AND revision = $8
            RETURNING",
            signed(revision)
        );
        Ok(updated.fetch_optional(conn).await?)
    }
}

revised!(PlanSpec, "plan_revisions", "plan_id");

impl Plans<'_> {
    /// Lists the plans of a tenant by name.
    pub async fn list(
        self,
        tenant_id: TenantId,
        page: &Page<String>,
    ) -> Result<Listing<PlanRow>, StoreError> {
        let rows = query_plans!(
            "-- plans.list
            SELECT",
            r#"FROM plans
            WHERE tenant_id = $1 AND ($2::text IS NULL OR name COLLATE "C" > $2)
            ORDER BY name COLLATE "C"
            LIMIT $3"#,
            uuid(tenant_id.to_u128()),
            page.after.as_deref(),
            page.fetch(),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(rows))
    }

    /// Returns the plans of a tenant that name a rule, in their present revision or in one that customers keep.
    pub async fn naming(
        self,
        tenant_id: TenantId,
        namespace: &str,
        rule: &str,
    ) -> Result<Vec<PlanRow>, StoreError> {
        let named = serde_json::json!([{ "namespace": namespace, "rule": rule }]);
        let pinned = serde_json::json!([{ "rules": named }]);
        let rows = query_plans!(
            "-- plans.naming
            SELECT",
            r#"FROM plans
            WHERE tenant_id = $1 AND (spec -> 'rules' @> $2 OR pinned @> $3)
            ORDER BY name COLLATE "C""#,
            uuid(tenant_id.to_u128()),
            named,
            pinned,
        )
        .fetch_all(self.conn)
        .await?;
        Ok(rows)
    }

    /// Returns all plans of a tenant as gates load them, without the number of their customers, which takes long to count.
    pub async fn served(self, tenant_id: TenantId) -> Result<Vec<ServedPlan>, StoreError> {
        let plans = of_tenants(self.conn, TenantRange::only(tenant_id)).await?;
        Ok(plans.into_iter().map(|(_, plan)| plan).collect())
    }

    /// Returns the number of plans of a tenant.
    pub async fn count(self, tenant_id: TenantId) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"-- plans.count
            SELECT count(*) AS "count!" FROM plans WHERE tenant_id = $1"#,
            uuid(tenant_id.to_u128()),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(count))
    }
}
