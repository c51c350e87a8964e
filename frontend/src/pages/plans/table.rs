//! The table of plans.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_domain::quantity::counted;
use weir_wire::plans::{PlanAnswer, PlanBody};
use weir_wire::tenants::Role;

use super::state::{OpenPlan, PlansState};
use crate::api::Api;
use crate::components::feedback::Empty;
use crate::components::guide_link::GuideLink;
use crate::components::owner::files_mark;
use crate::components::require_role::RequireRole;
use crate::components::table::{ConfirmedCall, ObjectTable, RowButton};
use crate::model::number::grouped;
use crate::model::{labels, owners, plan_text};
use crate::pages::shell::TenantId;

#[component]
pub(super) fn PlanTable(plans: Vec<PlanAnswer>, state: PlansState) -> impl IntoView {
    if plans.is_empty() {
        return view! {
            <Empty title="No plans yet">
                <p>"A plan has a name, such as pro, and other limits for some of your rules. "<GuideLink page="plans" text="About plans" /></p>
            </Empty>
        }
        .into_any();
    }
    let rows: Vec<_> = plans.into_iter().map(|plan| row(plan, state)).collect();
    view! {
        <ObjectTable label="Plans" columns=&["Name", "Rules", "Customers", "On older revisions", "Files"]>{rows}</ObjectTable>
    }
    .into_any()
}

fn row(answer: PlanAnswer, state: PlansState) -> AnyView {
    let PlanBody { name, description, .. } = answer.plan.clone();
    let older = answer.pinned.iter().map(|pinned| {
        let text = format!("{} on revision {}", grouped(pinned.customers), pinned.revision);
        view! { <div>{text}</div> }
    });
    let older: Vec<_> = older.collect();
    let older = if older.is_empty() { "None".into_any() } else { older.into_any() };
    let files = files_mark(answer.managed_by.as_ref(), answer.edited);
    let (customers, rules) = (customers(&answer), rules(&answer.plan));
    let before = StoredValue::new(answer);
    let open = move |open: fn(Box<PlanAnswer>) -> OpenPlan| {
        state.open.set(open(Box::new(before.get_value())));
    };
    view! {
        <tr>
            <td class="name"><div>{name.clone()}</div><div class="muted">{description}</div></td>
            <td class="text-cell">{rules}</td>
            <td>{customers}</td>
            <td>{older}</td>
            <td>{files}</td>
            <td class="number">
                <RowButton text="Revisions" label=format!("Revisions of {name}") on_press=move |()| open(OpenPlan::Revisions) />
                <RequireRole role=Role::Editor reason_shown=true>
                    <RowButton text="Edit" label=format!("Edit {name}") on_press=move |()| open(OpenPlan::Edit) />
                    <Delete before state />
                </RequireRole>
            </td>
        </tr>
    }
    .into_any()
}

/// The number of customers, with a link to them.
fn customers(answer: &PlanAnswer) -> AnyView {
    if answer.customers == 0 {
        return "0".into_any();
    }
    let (tenant, page) = (expect_context::<TenantId>(), format!("customers?plan={}", answer.id));
    let customers = counted(answer.customers, "customer", "customers");
    let (label, number) =
        (format!("{customers} on {}", answer.plan.name), grouped(answer.customers));
    view! { <A href=move || tenant.page(&page) attr:aria-label=label>{number}</A> }.into_any()
}

/// The rules that a plan names, of which the first ones with their effects.
fn rules(plan: &PlanBody) -> AnyView {
    if plan.rules.is_empty() {
        return view! { <span class="muted">"None: all rules apply as they are"</span> }.into_any();
    }
    let shown = plan.rules.iter().take(SHOWN).map(|rule| {
        let effect = labels::effect(rule.limits.as_deref(), rule.action);
        view! { <div><b>{plan_text::rule_name(rule)}</b>" "<span class="muted">{effect}</span></div> }
    });
    let shown: Vec<_> = shown.collect();
    let more = plan.rules.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| view! { <div class="muted">{format!("and {more} more")}</div> });
    view! { {shown}{more} }.into_any()
}

/// The rules of a plan that its row lists.
const SHOWN: usize = 3;

#[component]
fn Delete(before: StoredValue<PlanAnswer>, state: PlansState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let PlanAnswer { plan, managed_by, .. } = before.get_value();
    let owner = owners::sentence("plan", "plans", &[managed_by]).unwrap_or_default();
    let consequence = format!(
        "No customer can be assigned to it any more. A plan whose assignments have not ended is not deleted. {owner}"
    );
    let call = move |()| before.with_value(|before| api.delete_plan(&tenant.now(), before));
    view! {
        <ConfirmedCall text="Delete" name=plan.name title="Delete this plan?" consequence confirm="Delete plan" call done=state.changed />
    }
}
