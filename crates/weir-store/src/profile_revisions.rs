//! The revisions of profiles: the actor, the time, and the body before and after.

use serde_json::Value;
use weir_domain::id::{ProfileId, TenantId};

use crate::actor::Actor;
use crate::connection::PooledConnection;
use crate::convert::{all, signed, stored, unsigned, uuid};
use crate::error::StoreError;
use crate::message::statement;
use crate::page::{Listing, Page};
use crate::profiles::ProfileRow;
use crate::rule_revisions::{RevisionRow, Row, query_revisions};

/// Adds a revision. It travels with the next statement.
pub(crate) fn insert(
    conn: &mut PooledConnection,
    before: Option<&Value>,
    profile: &ProfileRow,
    actor: &Actor,
) {
    conn.defer(statement!(
        "-- profile_revisions.insert
        INSERT INTO profile_revisions (
            tenant_id,
            profile_id,
            revision,
            actor_kind,
            actor_id,
            actor_label,
            at,
            before,
            after
        )
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        uuid(profile.tenant_id.to_u128()),
        uuid(profile.id.to_u128()),
        signed(profile.revision),
        actor.kind(),
        actor.stored_id(),
        actor.label(),
        stored(profile.updated_at),
        before,
        profile.spec,
    ));
}

/// Deletes all but the newest `most` revisions of a profile of the tenant in scope. Returns the number of deleted rows.
pub(crate) async fn keep(
    conn: &mut PooledConnection,
    profile_id: ProfileId,
    most: u64,
) -> Result<u64, StoreError> {
    let removed = sqlx::query_scalar!(
        r#"-- profile_revisions.keep
        SELECT weir_keep_profile_revisions($1, $2) AS "removed!""#,
        uuid(profile_id.to_u128()),
        signed(most),
    )
    .fetch_one(conn)
    .await?;
    Ok(unsigned(removed))
}

pub(crate) async fn list(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    profile_id: ProfileId,
    page: &Page<u64>,
) -> Result<Listing<RevisionRow>, StoreError> {
    let rows = query_revisions!(
        "-- profile_revisions.list
        SELECT",
        "FROM profile_revisions
        WHERE tenant_id = $1 AND profile_id = $2 AND ($3::bigint IS NULL OR revision < $3)
        ORDER BY revision DESC
        LIMIT $4",
        uuid(tenant_id.to_u128()),
        uuid(profile_id.to_u128()),
        page.after.map(signed),
        page.fetch(),
    )
    .fetch_all(conn)
    .await?;
    Ok(page.listing(all(rows)?))
}

pub(crate) async fn find(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    profile_id: ProfileId,
    revision: u64,
) -> Result<Option<RevisionRow>, StoreError> {
    query_revisions!(
        "-- profile_revisions.find
        SELECT",
        "FROM profile_revisions
        WHERE tenant_id = $1 AND profile_id = $2 AND revision = $3",
        uuid(tenant_id.to_u128()),
        uuid(profile_id.to_u128()),
        signed(revision),
    )
    .fetch_optional(conn)
    .await?
    .map(RevisionRow::try_from)
    .transpose()
}
