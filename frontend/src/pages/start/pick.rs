//! The templates. Choosing one creates its rule, and a key unless one is known.

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::components::A;
use weir_wire::api_keys::{CreateKey, KeyScope};
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::tenants::Role;
use weir_wire::words::Mode;

use super::state::Started;
use crate::api::{Api, Problem};
use crate::components::feedback::SubmitProblem;
use crate::components::mini_picture::MiniPicture;
use crate::components::require_role::RequireRole;
use crate::model::labels;
use crate::model::template::Template;
use crate::pages::shell::TenantId;
use crate::session::{IssuedSecret, Session};

#[component]
pub(super) fn Pick(started_state: RwSignal<Option<Started>>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let session = expect_context::<Session>();
    let (busy, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    let choose = Callback::new(move |(template, mode): (Template, Mode)| {
        busy.set(true);
        problem.set(None);
        spawn_local(async move {
            match begin(api, session, &tenant.now(), template, mode).await {
                Ok(started) => drop(started_state.try_set(Some(started))),
                Err(rejected) => drop(problem.try_set(Some(rejected))),
            }
            busy.try_set(false);
        });
    });
    let cards = Template::ALL.map(|template| card(template, busy, choose));
    view! {
        <p>"What do you want to protect? Pick a template to create a rule and an API key. In shadow mode the rule reports what it would deny, and blocks nothing."</p>
        <RequireRole role=Role::Admin><div class="cards">{cards}</div></RequireRole>
        <SubmitProblem problem />
        <p class="muted">
            "None of these? "<A href=move || tenant.page("rules/new")>"Write your own rule"</A>"."
        </p>
    }
}

fn card(
    template: Template,
    busy: RwSignal<bool>,
    choose: Callback<(Template, Mode)>,
) -> impl IntoView + use<> {
    let rule = template.rule(1);
    view! {
        <section class="panel" aria-label=template.title()>
            <div class="card-head"><h2>{template.title()}</h2><MiniPicture rule=rule.clone() /></div>
            <p>{labels::sentence(&rule)}</p>
            <p class="note">{template.reason()}</p>
            <div class="actions">
                <button
                    type="button"
                    class="button primary"
                    disabled=busy
                    on:click=move |_| choose.run((template, Mode::Shadow))
                >
                    "Try in shadow mode"
                </button>
                <button
                    type="button"
                    class="button"
                    disabled=busy
                    on:click=move |_| choose.run((template, Mode::Enforce))
                >
                    "Create and enforce"
                </button>
            </div>
        </section>
    }
}

async fn begin(
    api: Api,
    session: Session,
    tenant: &str,
    template: Template,
    mode: Mode,
) -> Result<Started, Problem> {
    let rule = create(api, tenant, template, mode).await?;
    let check = template.check();
    // An enforced rule can protect live traffic, so its counters are left alone.
    let sends = mode == Mode::Shadow;
    if let Some(secret) = session.secret(tenant) {
        return Ok(Started { template, rule, secret, new_key: false, check, sends });
    }
    let body = CreateKey {
        name: format!("get started: {}", rule.rule.name),
        scopes: vec![KeyScope::Check],
        namespaces: None,
        expires_at: None,
    };
    let key = api.create_key(tenant, &body).await?;
    let secret = key.secret;
    session.add_secret(IssuedSecret {
        tenant_id: tenant.to_owned(),
        key_id: key.id,
        secret: secret.clone(),
    });
    Ok(Started { template, rule, secret, new_key: true, check, sends })
}

/// Creates the rule under the first free name.
async fn create(
    api: Api,
    tenant: &str,
    template: Template,
    mode: Mode,
) -> Result<RuleAnswer, Problem> {
    let existing = api.rules(tenant).await?;
    let free = |rule: &RuleBody| {
        !existing.iter().any(|rule_answer| {
            (&rule_answer.rule.namespace, &rule_answer.rule.name) == (&rule.namespace, &rule.name)
        })
    };
    let mut rules = (1..).map(|attempt| RuleBody { mode, ..template.rule(attempt) });
    let rule = rules.find(free).expect("there are fewer rules than numbers");
    api.create_rule(tenant, &rule).await
}
