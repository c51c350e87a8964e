//! The wanted profiles of a set: their checks, their plan and its execution, beside those of the rules.

use std::collections::{HashMap, HashSet};

use weir_domain::id::ProfileId;
use weir_domain::names;
use weir_domain::profile::PROFILES_PER_TENANT_MAX;
use weir_http::problem::Problem;
use weir_store::{Page, ProfileRow};
use weir_wire::apply::{
    APPLY_PROFILES_MAX, ApplyAnswer, ApplyBody, FieldChange, ObjectKind, ObjectName, PlanWarning,
    UpdatedObject,
};
use weir_wire::problem::FieldProblem;
use weir_wire::profiles::ProfileBody;

use crate::answers::to_value;
use crate::apply::comparison::{Comparison, compare, differences};
use crate::audit;
use crate::change::Change;
use crate::error::ControlError;
use crate::profiles::create::insert;
use crate::profiles::delete::delete_stored;
use crate::profiles::update::update_stored;
use crate::state::ControlState;

/// The changes of the profiles of a set, in the order of the request.
pub(super) struct ProfilePlan {
    deletes: Vec<ProfileRow>,
    updates: Vec<Update>,
    /// The positions in the request of the profiles to be created.
    creates: Vec<usize>,
    unchanged: u64,
}

/// A profile to be replaced.
struct Update {
    /// The position in the request.
    at: usize,
    before: ProfileRow,
    /// Whether the profile did not belong to the set.
    adopted: bool,
    changes: Vec<FieldChange>,
}

/// Checks the profiles of a request. The problems name the invalid fields.
pub(super) fn checked(body: &ApplyBody) -> Result<(), Problem> {
    if body.profiles.len() > APPLY_PROFILES_MAX {
        let reason = format!("must hold at most {APPLY_PROFILES_MAX} profiles");
        return Err(Problem::invalid_field("profiles", reason));
    }
    let mut wrong = Vec::new();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (at, wanted) in body.profiles.iter().enumerate() {
        if let Err(fields) = wanted.profile.clone().parse() {
            let below = |field: FieldProblem| {
                FieldProblem::new(format!("{}.{}", path(at), field.field), field.reason)
            };
            wrong.extend(fields.into_iter().map(below));
        }
        if let Some(first) = seen.insert(&wanted.profile.name, at) {
            let reason = format!("is the name of profiles[{first}] too");
            wrong.push(FieldProblem::new(format!("{}.name", path(at)), reason));
        }
    }
    for (at, wanted) in body.profiles.iter().enumerate() {
        let Some(former) = &wanted.renamed_from else { continue };
        let field = format!("profiles[{at}].renamed_from");
        if let Err(reason) = names::rule(former) {
            wrong.push(FieldProblem::new(field, reason));
        } else if let Some(other) = seen.insert(former, at) {
            let reason = format!("is the name of profiles[{other}] too");
            wrong.push(FieldProblem::new(field, reason));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Problem::invalid(wrong)) }
}

impl ProfilePlan {
    pub(super) async fn new(change: &mut Change, body: &ApplyBody) -> Result<Self, ControlError> {
        let tenant_id = change.caller.tenant_id;
        let most = u32::try_from(PROFILES_PER_TENANT_MAX).unwrap_or(u32::MAX);
        let page = Page { limit: most, after: None };
        let rows = change.tx.profiles().list(tenant_id, None, &page).await?.items;
        let find = |name: &str| rows.iter().find(|row| row.name == name);
        let mut plan =
            Self { deletes: Vec::new(), updates: Vec::new(), creates: Vec::new(), unchanged: 0 };
        let mut taken: HashSet<ProfileId> = HashSet::new();
        let mut wrong = Vec::new();
        for (at, wanted) in body.profiles.iter().enumerate() {
            let former = wanted.renamed_from.as_deref().and_then(find);
            let found = match (find(&wanted.profile.name), former) {
                (Some(_), Some(_)) => {
                    let reason = "names a profile that exists beside the renamed one";
                    wrong.push(FieldProblem::new(format!("profiles[{at}].renamed_from"), reason));
                    continue;
                }
                (found, None) | (None, found) => found,
            };
            let Some(before) = found else {
                plan.creates.push(at);
                continue;
            };
            crate::profiles::admit(&change.caller, before)?;
            taken.insert(before.id);
            if let Err(reason) = plan.compare(at, before, &wanted.profile, body)? {
                wrong.push(FieldProblem::new(format!("{}.name", path(at)), reason));
            }
        }
        if !wrong.is_empty() {
            return Err(Problem::invalid(wrong).into());
        }
        if body.prune {
            let of_set = |row: &&ProfileRow| row.managed_by.as_ref() == Some(&body.set);
            let rest = rows.iter().filter(of_set).filter(|row| !taken.contains(&row.id));
            let admitted = rest.filter(|row| crate::profiles::admit(&change.caller, row).is_ok());
            plan.deletes = admitted.cloned().collect();
        }
        Ok(plan)
    }

    /// Adds the difference of a profile, or returns the reason why it must not be changed.
    fn compare(
        &mut self,
        at: usize,
        before: &ProfileRow,
        wanted: &ProfileBody,
        body: &ApplyBody,
    ) -> Result<Result<(), String>, Problem> {
        let after = to_value(wanted)?;
        match compare(before.managed_by.as_ref(), before.spec == after, body) {
            Ok(Comparison::Unchanged) => self.unchanged += 1,
            Ok(Comparison::Changed { adopted }) => {
                let changes = differences(&before.spec, &after);
                self.updates.push(Update { at, before: before.clone(), adopted, changes });
            }
            Err(reason) => return Ok(Err(format!("is a profile {reason}"))),
        }
        Ok(Ok(()))
    }

    /// Writes all changes, deletions first, since they free names, and adds them to the answer.
    pub(super) async fn execute(
        self,
        control: &ControlState,
        change: &mut Change,
        body: &ApplyBody,
        answer: &mut ApplyAnswer,
    ) -> Result<(), ControlError> {
        answer.unchanged += self.unchanged;
        for row in self.deletes {
            delete_stored(change, row.id, Some(row.revision)).await?;
            answer.deleted.push(named(&row.name, &row.spec));
        }
        for update in self.updates {
            let at = update.at;
            let wanted = &body.profiles[at].profile;
            warn(answer, wanted);
            let updated = write(change, &body.set, update, wanted).await;
            answer.updated.push(updated.map_err(|error| error.below(&path(at)))?);
        }
        for at in self.creates {
            let wanted = &body.profiles[at].profile;
            warn(answer, wanted);
            let row = insert(control, change, wanted, Some(&body.set)).await;
            let row = row.map_err(|error| error.below(&path(at)))?;
            answer.created.push(named(&row.name, &row.spec));
        }
        Ok(())
    }
}

fn warn(answer: &mut ApplyAnswer, profile: &ProfileBody) {
    let warnings = crate::profiles::warnings(profile).into_iter();
    answer.warnings.extend(warnings.map(|text| PlanWarning {
        namespace: profile.namespace.clone(),
        name: profile.name.clone(),
        text,
    }));
}

async fn write(
    change: &mut Change,
    set: &str,
    update: Update,
    wanted: &ProfileBody,
) -> Result<UpdatedObject, ControlError> {
    let Update { before, adopted, changes, .. } = update;
    let id = before.id;
    let changed_at = before.updated_at;
    let page = Page { limit: 1, after: None };
    let last = change.tx.profiles().revisions(change.caller.tenant_id, id, &page).await?;
    let last = last.items.into_iter().next();
    let last =
        last.ok_or_else(|| Problem::internal(format!("stored profile {id} has no revision")))?;
    let revision = before.revision;
    update_stored(change, before, wanted, revision, Some(set)).await?;
    Ok(UpdatedObject {
        kind: ObjectKind::Profile,
        id: id.to_string(),
        namespace: wanted.namespace.clone(),
        name: wanted.name.clone(),
        changes,
        adopted,
        last_changed_by: Some(audit::actor(last.actor)),
        last_changed_at: changed_at.into(),
    })
}

fn named(name: &str, spec: &serde_json::Value) -> ObjectName {
    ObjectName {
        kind: ObjectKind::Profile,
        namespace: spec["namespace"].as_str().unwrap_or_default().to_owned(),
        name: name.to_owned(),
    }
}

/// The path of a profile in the request.
fn path(at: usize) -> String {
    format!("profiles[{at}].profile")
}
