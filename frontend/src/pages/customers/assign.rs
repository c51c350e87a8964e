//! Assigning a customer to a plan, at once or from a time.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_domain::names;
use weir_domain::time::Timestamp;
use weir_wire::overrides::REASON_CHARS_MAX;
use weir_wire::plans::{AssignmentAnswer, AssignmentBody, PlanAnswer};
use weir_wire::time::DateTime;

use crate::api::Api;
use crate::browser;
use crate::components::feedback::Empty;
use crate::components::field::{Choice, TextField};
use crate::components::input::Input;
use crate::components::seen::SeenAttributes;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::toast::Toasts;
use crate::model::subject;
use crate::pages::shell::TenantId;

/// The form; `done` is called once the customer is assigned.
#[component]
pub fn Assign(
    /// The attribute that names customers.
    attribute: String,
    plans: Vec<PlanAnswer>,
    /// Without it, the form asks for the customer.
    #[prop(optional, into)]
    customer: Option<String>,
    done: Callback<()>,
    #[prop(into)] cancel: Callback<()>,
) -> impl IntoView {
    if plans.is_empty() {
        let tenant = expect_context::<TenantId>();
        return view! {
            <Empty title="No plans yet">
                <p>"Create a plan first: "<A href=move || tenant.page("plans")>"Plans"</A></p>
            </Empty>
        }
        .into_any();
    }
    view! { <Fields attribute plans customer done cancel /> }.into_any()
}

#[component]
fn Fields(
    attribute: String,
    plans: Vec<PlanAnswer>,
    customer: Option<String>,
    done: Callback<()>,
    cancel: Callback<()>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let toasts = expect_context::<Toasts>();
    let action = SubmitAction::with_fields(&["customer", "plan", "from", "until", "note", "email"]);
    let is_chosen = customer.is_some();
    let name = RwSignal::new(customer.unwrap_or_default());
    let name_problem =
        action.validated("customer", name, |name| names::value(name).map_err(str::to_owned));
    let note = Input::new(action, "note", "", |note| names::prose(note, REASON_CHARS_MAX));
    let email = Input::new(action, "email", "", |email| match email.trim() {
        "" => Ok(()),
        email => names::email(email).map_err(str::to_owned),
    });
    let [from, until] = [0; 2].map(|_| RwSignal::new(String::new()));
    let plan = RwSignal::new(plans.first().map(|plan| plan.id.clone()).unwrap_or_default());
    let names = plans.into_iter().map(|plan| (plan.id, plan.plan.name));
    let names = StoredValue::new(names.collect::<Vec<_>>());
    let body = move || AssignmentBody {
        customer: name.get(),
        plan: plan.get(),
        from: time(from),
        until: time(until),
        note: given(note.value),
        email: given(email.value),
    };
    // The problem of a time as it is entered, or else the server's.
    let problem = move |field: &'static str| {
        let rejected = action.server_problem(field);
        Signal::derive(move || {
            let wrong = body().problems(Timestamp::from_millis(browser::now_ms()));
            let wrong = wrong.into_iter().find(|problem| problem.field == field);
            wrong.map(|problem| problem.reason).or_else(|| rejected.get())
        })
    };
    let incomplete = Signal::derive(move || {
        let body = body();
        let now = Timestamp::from_millis(browser::now_ms());
        body.customer.is_empty() || !body.problems(now).is_empty()
    });
    let assign = Callback::new(move |()| {
        let call = api.assign(&tenant.now(), &untrack(body));
        action.run(call, move |assigned: AssignmentAnswer| {
            let plan = names.with_value(|names| {
                let named = names.iter().find(|(id, _)| *id == assigned.plan);
                named.map(|(_, name)| name.clone()).unwrap_or_default()
            });
            let customer = subject::shown(&assigned.customer);
            toasts.show(format!("{customer} assigned to {plan}"));
            done.try_run(());
        });
    });
    let suggestions = expect_context::<SeenAttributes>().values(move || attribute.clone());
    let customer = (!is_chosen).then(|| {
        view! { <TextField label="Customer" value=name problem=name_problem suggestions hint="The value of the attribute in checks" /> }
    });
    view! {
        <SubmitForm action submit="Assign" on_submit=assign incomplete cancel class="panel editor-panel">
            {customer}
            <Choice label="Plan" value=plan.into() options=names.get_value() problem=action.server_problem("plan") />
            <TextField label="From" kind="datetime-local" value=from problem=problem("from") hint="Empty: at once, in place of the present plan" />
            <TextField label="Until" kind="datetime-local" value=until problem=problem("until") hint="Empty: until the next plan of the customer, or without end" />
            <TextField label="Note" value=note.value problem=note.problem hint="Optional" />
            <TextField label="E-mail" kind="email" value=email.value problem=email.problem hint="For alerts about its quotas. Empty: the address of its present plan, if there is one" />
            <p class="note">"Units that the customer has used stay used."</p>
        </SubmitForm>
    }
}

/// The entered text; tracked. `None` for an empty field.
fn given(text: RwSignal<String>) -> Option<String> {
    Some(text.get().trim().to_owned()).filter(|text| !text.is_empty())
}

/// The entered time; tracked. `None` for an empty field.
fn time(text: RwSignal<String>) -> Option<DateTime> {
    let at_ms = text.with(|text| browser::parse_local_input(text))?;
    Some(DateTime(Timestamp::from_millis(at_ms)))
}
