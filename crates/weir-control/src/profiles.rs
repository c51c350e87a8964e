//! Profiles: how the requests that proxies ask about become checks.

use weir_domain::id::ProfileId;
use weir_domain::profile::PROFILES_PER_TENANT_MAX;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{ProfileBody as StoredBody, ProfileRow, ProfileSpec, Tx};
use weir_wire::problem::ErrorCode;
use weir_wire::profiles::{ProfileAnswer, ProfileBody};

use crate::actor::Caller;
use crate::answers::to_value;
use crate::change::Change;
use crate::error::ControlError;
use crate::specs::{Authored, Kind};

pub(crate) mod read;
pub(crate) mod write;

impl Kind for ProfileSpec {
    const WORD: &'static str = "profile";
    const ID: fn(Timestamp, u128) -> ProfileId = ProfileId::new;
    type Answer = ProfileAnswer;

    async fn admit(_: &mut Tx, caller: &Caller, row: &ProfileRow) -> Result<(), ControlError> {
        Ok(caller.namespaces.admit(namespace(row))?)
    }

    fn answer(row: &ProfileRow) -> Result<ProfileAnswer, Problem> {
        profile_answer(row)
    }
}

impl Authored for ProfileSpec {
    type Wire = ProfileBody;
    type Checked = ProfileBody;

    fn check(body: ProfileBody) -> Result<ProfileBody, Problem> {
        body.clone().parse().map_err(Problem::invalid)?;
        Ok(body)
    }

    fn namespace(checked: &ProfileBody) -> &str {
        &checked.namespace
    }

    async fn new_body(
        change: &mut Change,
        _: ProfileId,
        checked: &ProfileBody,
    ) -> Result<StoredBody, ControlError> {
        let count = change.tx.profiles().count(change.caller.tenant_id).await?;
        if count < PROFILES_PER_TENANT_MAX {
            return stored(checked);
        }
        let detail =
            format!("the tenant has {count} profiles; {PROFILES_PER_TENANT_MAX} is the most");
        Err(Problem::new(ErrorCode::Conflict, detail).into())
    }

    async fn edited_body(
        _: &mut Change,
        _: &ProfileRow,
        checked: &ProfileBody,
    ) -> Result<StoredBody, ControlError> {
        stored(checked)
    }
}

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

/// The namespace in which a profile checks.
pub(crate) fn namespace(row: &ProfileRow) -> &str {
    row.spec["namespace"].as_str().unwrap_or_default()
}

fn stored(body: &ProfileBody) -> Result<StoredBody, ControlError> {
    Ok(StoredBody { name: body.name.clone(), spec: to_value(body)? })
}
