//! The setting that names the tenant's customers, without which there are no plans.

use leptos::prelude::*;
use weir_domain::names;
use weir_wire::plans::PlanAnswer;
use weir_wire::tenants::{Role, Tenant};

use crate::api::{Api, Problem};
use crate::components::field::TextField;
use crate::components::guide_link::GuideLink;
use crate::components::input::Input;
use crate::components::require_role::RequireRole;
use crate::components::seen::SeenAttributes;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::toast::Toasts;
use crate::pages::shell::TenantId;

/// The form; `done` is called once the attribute is saved.
#[component]
pub fn CustomerAttribute(
    attribute: Option<String>,
    #[prop(into)] done: Callback<()>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::with_fields(&["customer_attribute"]);
    let toasts = expect_context::<Toasts>();
    let before = attribute.unwrap_or_default();
    let typed = Input::new(action, "customer_attribute", &before, valid);
    let saved = RwSignal::new(before);
    let save = Callback::new(move |()| {
        let new = Some(typed.text()).filter(|text| !text.is_empty());
        let call = api.set_customer_attribute(&tenant.now(), new);
        action.run(call, move |tenant: Tenant| {
            toasts.show("Customer attribute saved");
            saved.try_set(tenant.customer_attribute.unwrap_or_default());
            done.run(());
        });
    });
    let incomplete =
        Signal::derive(move || saved.with(|saved| typed.is(saved)) || typed.is_invalid());
    let suggestions = expect_context::<SeenAttributes>().names();
    view! {
        <RequireRole role=Role::Admin>
            <SubmitForm action submit="Set attribute" on_submit=save incomplete>
                <h3>"Customers"</h3>
                <p class="note">
                    "The attribute of checks whose values are your customers, such as org. Plans replace the limits of rules that count by it."
                </p>
                <TextField label="Customer attribute" value=typed.value problem=typed.problem hint="Empty: you use no plans" suggestions />
            </SubmitForm>
        </RequireRole>
    }
}

/// The attribute, and the plans of the tenant.
pub type PlansOfCustomers = (String, Vec<PlanAnswer>);

/// `None` for a tenant without the attribute.
pub async fn plans_of_customers(
    api: Api,
    tenant: &str,
) -> Result<Option<PlansOfCustomers>, Problem> {
    match api.tenant(tenant).await?.customer_attribute {
        Some(attribute) => Ok(Some((attribute, api.plans(tenant).await?))),
        None => Ok(None),
    }
}

/// The page of a tenant without the attribute: the purpose of plans, and the setting that they need.
#[component]
pub fn NoCustomerAttribute(#[prop(into)] done: Callback<()>) -> impl IntoView {
    view! {
        <section class="settings-group" aria-labelledby="no-attribute">
            <h2 id="no-attribute">"Which attribute names your customers?"</h2>
            <p>
                "A plan replaces the limits of rules for all customers that are on it, so callers send the customer alone. "
                <GuideLink page="plans" text="About plans" />
            </p>
            <CustomerAttribute attribute=None done />
        </section>
    }
}

fn valid(name: &str) -> Result<(), String> {
    if name.is_empty() { Ok(()) } else { names::attribute(name).map_err(str::to_owned) }
}
