//! The wanted plans of a set: the checks that need no stored object, and their part of the plan of the apply.

use weir_http::problem::Problem;
use weir_store::{Page, PlanRow, PlanSpec};
use weir_wire::apply::{APPLY_PLANS_MAX, ApplyAnswer, ApplyBody, ObjectKind, ObjectName};
use weir_wire::plans::{PLANS_PER_TENANT_MAX, PlanBody};
use weir_wire::problem::ErrorCode;

use crate::actor::Caller;
use crate::answers::to_value;
use crate::apply::comparison::refuse_wrong;
use crate::apply::plan::{Planned, below, wrong_names};
use crate::change::Change;
use crate::error::ControlError;
use crate::plans::delete_without_customers;
use crate::specs::find;

/// Checks the plans of a request, and whether the caller can apply plans and assignments. The problems name the invalid fields.
pub(super) fn checked(caller: &Caller, body: &ApplyBody) -> Result<(), Problem> {
    let none = body.plans.is_empty() && body.assignments.is_empty();
    if !none && caller.namespaces.are_restricted() {
        let detail =
            "the key is restricted to namespaces, and plans and assignments belong to none";
        return Err(Problem::new(ErrorCode::Forbidden, detail));
    }
    refuse_wrong("plans", body.plans.len(), APPLY_PLANS_MAX, || {
        let bodies = body.plans.iter().map(|wanted| &wanted.plan);
        let names: Vec<_> = bodies.clone().map(|plan| plan.name.as_str()).collect();
        let mut wrong = below::<PlanSpec>(bodies.map(PlanBody::problems));
        wrong.extend(wrong_names::<PlanSpec>(body, &names));
        wrong
    })
}

impl Planned for PlanSpec {
    async fn stored(
        change: &mut Change,
        _: &[PlanBody],
        _: &str,
    ) -> Result<Vec<PlanRow>, ControlError> {
        let most = u32::try_from(PLANS_PER_TENANT_MAX).unwrap_or(u32::MAX);
        let page = Page { limit: most, after: None };
        Ok(change.tx.plans().list(change.caller.tenant_id, &page).await?.items)
    }

    fn named(row: &PlanRow) -> ObjectName {
        object(&row.name)
    }

    fn wanted(checked: &PlanBody) -> ObjectName {
        object(&checked.name)
    }

    fn key(_: &str, name: &str) -> (String, String) {
        (String::new(), name.to_owned())
    }

    fn former(body: &ApplyBody, at: usize) -> Option<&str> {
        body.plans[at].renamed_from.as_deref()
    }

    fn body(checked: &PlanBody) -> &PlanBody {
        checked
    }

    fn is_same(row: &PlanRow, checked: &PlanBody) -> Result<bool, Problem> {
        Ok(row.spec == to_value(checked)?)
    }

    fn warnings(_: &PlanBody) -> Vec<String> {
        Vec::new()
    }

    async fn delete_rows(
        change: &mut Change,
        rows: Vec<PlanRow>,
        answer: &mut ApplyAnswer,
    ) -> Result<(), ControlError> {
        for row in rows {
            // Its assignments can have ended since it was read.
            let row = find::<Self>(&mut change.tx, &change.caller, row.id).await?;
            delete_without_customers(change, &row, Some(row.revision)).await?;
            answer.deleted.push(Self::named(&row));
        }
        Ok(())
    }
}

fn object(name: &str) -> ObjectName {
    ObjectName { kind: ObjectKind::Plan, namespace: String::new(), name: name.to_owned() }
}
