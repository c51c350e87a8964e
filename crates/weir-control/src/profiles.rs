//! Profiles: how the requests that proxies ask about become checks.

use weir_domain::id::{ProfileId, TenantId};
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{ProfileBody as StoredBody, ProfileRow, ProfileWrite};
use weir_wire::profiles::{ProfileAnswer, ProfileBody};

use crate::actor::Caller;
use crate::answers::to_value;

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod revert;
pub(crate) mod revisions;
pub(crate) mod update;

/// A profile in JSON.
pub(crate) fn profile_answer(row: &ProfileRow) -> Result<ProfileAnswer, Problem> {
    let profile: ProfileBody =
        serde_json::from_value(row.spec.clone()).map_err(Problem::internal)?;
    let warnings = warnings(&profile);
    Ok(ProfileAnswer {
        id: row.id.to_string(),
        profile,
        warnings,
        managed_by: row.managed_by.clone(),
        edited: row.edited,
        revision: row.revision,
        rulebook_version: row.rulebook_version,
        created_at: row.created_at.into(),
        updated_at: row.updated_at.into(),
    })
}

/// The warnings about a profile. None about one that this release cannot read.
pub(crate) fn warnings(body: &ProfileBody) -> Vec<String> {
    let profile = body.clone().parse();
    profile.map(|profile| weir_domain::warnings::of_profile(&profile)).unwrap_or_default()
}

/// Refuses a profile that checks in a namespace in which the caller has no rights.
pub(crate) fn admit(caller: &Caller, row: &ProfileRow) -> Result<(), Problem> {
    caller.namespaces.admit(row.spec["namespace"].as_str().unwrap_or_default())
}

/// The row of a body that was checked.
fn write(
    tenant_id: TenantId,
    id: ProfileId,
    body: &ProfileBody,
    managed_by: Option<&str>,
    now: Timestamp,
) -> Result<ProfileWrite, Problem> {
    let body = StoredBody { name: body.name.clone(), spec: to_value(body)? };
    let managed_by = managed_by.map(str::to_owned);
    Ok(ProfileWrite { tenant_id, id, body, managed_by, now })
}
