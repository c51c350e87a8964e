//! The ceilings of tenants: the defaults of the installation, and the values of single tenants.

use futures_util::FutureExt as _;
use leptos::prelude::*;
use weir_domain::ceilings::Ceiling;
use weir_wire::ceilings::CeilingsBody;
use weir_wire::tenants::Tenant;

use crate::api::{Api, Problem};
use crate::components::control_flow::Show;
use crate::components::field::{Choice, TextField};
use crate::components::guide_link::GuideLink;
use crate::components::remote_data::{RemoteData, fetch_data, show};
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::model::ceilings::{FIELDS, hint, label, read};

/// The values that are set, and those that apply where none is set.
#[derive(Debug, Clone, Copy)]
struct Values {
    set: CeilingsBody,
    fallback: CeilingsBody,
}

#[component]
pub(super) fn Ceilings() -> impl IntoView {
    let api = expect_context::<Api>();
    let tenants = fetch_data(move || api.all_tenants().boxed_local());
    view! {
        <section class="panel" aria-label="Ceilings">
            <h2>"Ceilings"</h2>
            <p class="note">
                "The most that one tenant can use of the resources that all tenants share. Lowering a ceiling removes nothing. "
                <GuideLink page="operate/ceilings" text="About ceilings" />
            </p>
            {show(tenants, |tenants| view! { <ScopedForm tenants /> })}
        </section>
    }
}

/// The form of the chosen tenant, or of the defaults for an empty id.
#[component]
fn ScopedForm(tenants: Vec<Tenant>) -> impl IntoView {
    let api = expect_context::<Api>();
    let tenant = RwSignal::new(String::new());
    let mut options = vec![(String::new(), "Defaults for all tenants".to_owned())];
    options.extend(tenants.into_iter().map(|tenant| (tenant.id, tenant.name)));
    let saved = RwSignal::new(false);
    Effect::new(move |_| {
        tenant.track();
        saved.set(false);
    });
    let values = fetch_data(move || {
        let tenant = tenant.get();
        async move { Ok((load(api, &tenant).await?, tenant)) }.boxed_local()
    });
    view! {
        <Choice label="Applies to" value=tenant.into() options />
        {show(values, move |(current, loaded)| {
            let id = loaded.clone();
            // While those of another tenant are read, the values of the former one are not shown.
            let is_chosen = move || tenant.with(|tenant| *tenant == id);
            view! {
                <Show when=is_chosen>
                    <ValuesForm current tenant=loaded.clone() values saved />
                </Show>
            }
        })}
    }
}

#[component]
fn ValuesForm(
    current: Values,
    tenant: String,
    values: RemoteData<(Values, String)>,
    /// Whether the shown values were just saved; outlives the form, which is recreated with the stored values.
    saved: RwSignal<bool>,
) -> impl IntoView {
    let api = expect_context::<Api>();
    let action = SubmitAction::with_fields(&FIELDS);
    let set = entries(&current.set);
    let fallback = entries(&current.fallback);
    let fields = Ceiling::ALL.map(|ceiling| {
        let text = set[ceiling as usize].map(|value| value.to_string());
        RwSignal::new(text.unwrap_or_default())
    });
    let input = Memo::new(move |_| read(|ceiling| fields[ceiling as usize].get()));
    let incomplete = Signal::derive(move || input.with(Result::is_err));
    let tenant = StoredValue::new(tenant);
    let save = Callback::new(move |()| {
        let Ok(body) = input.get_untracked() else { return };
        saved.set(false);
        let request = async move { store(api, &tenant.get_value(), &body).await };
        action.run(request, move |()| {
            saved.try_set(true);
            values.refetch();
        });
    });
    let field = move |ceiling: Ceiling| {
        let name = ceiling.as_str();
        let rejected = action.server_problem(name);
        let problem = Signal::derive(move || {
            let invalid = input.with(|input| {
                let problems = input.as_ref().err()?;
                let problem = problems.iter().find(|problem| problem.field == name)?;
                Some(problem.reason.clone())
            });
            invalid.or_else(|| rejected.get())
        });
        let fallback = fallback[ceiling as usize].unwrap_or(ceiling.default_value());
        view! {
            <TextField label=label(ceiling) value=fields[ceiling as usize] problem hint=hint(ceiling, fallback) short=true />
        }
    };
    view! {
        <SubmitForm action submit="Save ceilings" on_submit=save incomplete class="stack">
            <div class="ceilings">{Ceiling::ALL.map(field)}</div>
            <p class="note" role="status">{move || saved.get().then_some("Saved. The new values apply within a second.")}</p>
        </SubmitForm>
    }
}

async fn load(api: Api, tenant: &str) -> Result<Values, Problem> {
    if tenant.is_empty() {
        let defaults = api.default_ceilings().await?;
        let built_in = CeilingsBody::of(|ceiling| Some(ceiling.default_value()));
        return Ok(Values { set: defaults.set, fallback: built_in });
    }
    let (defaults, own) = (api.default_ceilings().await?, api.tenant_ceilings(tenant).await?);
    Ok(Values { set: own.own, fallback: defaults.in_force })
}

async fn store(api: Api, tenant: &str, body: &CeilingsBody) -> Result<(), Problem> {
    if tenant.is_empty() {
        api.set_default_ceilings(body).await.map(drop)
    } else {
        api.set_tenant_ceilings(tenant, body).await.map(drop)
    }
}

/// The values in the order of [`Ceiling::ALL`].
fn entries(body: &CeilingsBody) -> [Option<u64>; Ceiling::ALL.len()] {
    let values = body.parse().unwrap_or_default();
    Ceiling::ALL.map(|ceiling| values.get(ceiling))
}
