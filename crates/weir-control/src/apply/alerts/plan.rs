//! The differences between the wanted alerts and the stored ones.

use std::collections::HashSet;

use weir_domain::id::AlertId;
use weir_http::problem::Problem;
use weir_store::{AlertRow, Page};
use weir_wire::apply::{ApplyBody, ObjectKind, ObjectName};
use weir_wire::problem::FieldProblem;

use crate::alerts::CheckedAlert;
use crate::alerts::write::ALERTS_MAX;
use crate::answers::to_value;
use crate::apply::alerts::targets::Targets;
use crate::apply::comparison::{Comparison, Update, compare, differences, updated};
use crate::change::Change;
use crate::error::ControlError;

/// The changes of the alerts of a set, in the order of the request.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) updates: Vec<Update<AlertRow, CheckedAlert>>,
    pub(super) creates: Vec<Create>,
    pub(super) unchanged: u64,
}

/// An alert to be created.
pub(super) struct Create {
    /// The position in the request.
    pub(super) at: usize,
    pub(super) alert: CheckedAlert,
    pub(super) object: ObjectName,
}

impl Plan {
    pub(super) async fn new(change: &mut Change, body: &ApplyBody) -> Result<Self, ControlError> {
        let mut plan = Self::default();
        if body.alerts.is_empty() {
            return Ok(plan);
        }
        let rows = all(change).await?;
        let targets = Targets::load(change, body, &rows).await?;
        let mut wrong = Vec::new();
        for (at, wanted) in body.alerts.iter().enumerate() {
            let found = stored(&rows, &wanted.name, body);
            match (targets.checked(wanted), found) {
                (Ok(after), Ok(before)) => {
                    if let Err(reason) = plan.add(at, before, after, body, &targets)? {
                        wrong.push(FieldProblem::new(format!("{}.name", path(at)), reason));
                    }
                }
                (checked, found) => {
                    let of_name = found.err().map(|reason| FieldProblem::new("name", reason));
                    let fields = checked.err().into_iter().flatten().chain(of_name);
                    wrong.extend(fields.map(|field| {
                        FieldProblem::new(format!("{}.{}", path(at), field.field), field.reason)
                    }));
                }
            }
        }
        if wrong.is_empty() { Ok(plan) } else { Err(Problem::invalid(wrong).into()) }
    }

    /// Adds a wanted alert, or returns the reason why the stored one must not be changed.
    fn add(
        &mut self,
        at: usize,
        before: Option<&AlertRow>,
        after: CheckedAlert,
        body: &ApplyBody,
        targets: &Targets,
    ) -> Result<Result<(), String>, Problem> {
        let object = object(targets, &after);
        let Some(before) = before else {
            self.creates.push(Create { at, alert: after, object });
            return Ok(Ok(()));
        };
        let now = CheckedAlert::stored(before);
        match compare(before.managed_by.as_ref(), now == after, body) {
            Ok(Comparison::Unchanged) => self.unchanged += 1,
            Ok(Comparison::Changed { adopted }) => {
                let shown = |alert| to_value(&targets.shown(alert));
                let changes = differences(&shown(&now)?, &shown(&after)?);
                let shown = updated(object, &before.id, adopted, changes, before.updated_at);
                self.updates.push(Update { at, before: before.clone(), after, shown });
            }
            Err(reason) => return Ok(Err(format!("is an alert {reason}"))),
        }
        Ok(Ok(()))
    }
}

/// The alerts of the set that the request does not name.
pub(super) async fn unwanted(
    change: &mut Change,
    body: &ApplyBody,
) -> Result<Vec<(AlertId, ObjectName)>, ControlError> {
    let mut rows = all(change).await?;
    let named: HashSet<_> = body.alerts.iter().map(|wanted| wanted.name.as_str()).collect();
    rows.retain(|row| row.managed_by.as_ref() == Some(&body.set) && !named.contains(&*row.name));
    let targets = Targets::load(change, body, &rows).await?;
    Ok(rows.iter().map(|row| (row.id, object(&targets, &CheckedAlert::stored(row)))).collect())
}

async fn all(change: &mut Change) -> Result<Vec<AlertRow>, ControlError> {
    let page = Page { limit: u32::try_from(ALERTS_MAX).unwrap_or(u32::MAX), after: None };
    Ok(change.tx.alerts().list(change.caller.tenant_id, &page).await?.items)
}

/// The stored alert that a wanted one stands for: that of the set, else the only one of no set. If it may be adopted, also the
/// only one of another set.
fn stored<'r>(
    rows: &'r [AlertRow],
    name: &str,
    body: &ApplyBody,
) -> Result<Option<&'r AlertRow>, String> {
    let mut of_name = rows.iter().filter(|row| row.name == name);
    if let Some(own) = of_name.clone().find(|row| row.managed_by.as_ref() == Some(&body.set)) {
        return Ok(Some(own));
    }
    let free: Vec<_> = of_name.clone().filter(|row| row.managed_by.is_none()).collect();
    match (free.as_slice(), of_name.next(), of_name.next()) {
        ([only], ..) => Ok(Some(only)),
        ([], Some(only), None) if body.adopt => Ok(Some(only)),
        ([], ..) => Ok(None),
        (several, ..) => {
            let count = several.len();
            Err(format!("is the name of {count} alerts of no set; give all but one another name"))
        }
    }
}

fn object(targets: &Targets, alert: &CheckedAlert) -> ObjectName {
    let shown = targets.shown(alert);
    let namespace = shown.namespace.unwrap_or_default();
    ObjectName { kind: ObjectKind::Alert, namespace, name: shown.name }
}

/// The path of an alert in the request.
pub(super) fn path(at: usize) -> String {
    format!("alerts[{at}]")
}
