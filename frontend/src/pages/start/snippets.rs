//! The check as code, with the person's own key and gate.

use leptos::prelude::*;
use weir_wire::check::CheckBody;

use crate::api::{Api, gate_address};
use crate::components::copy::CodeBlock;
use crate::components::remote_data::{fetch_data, show};
use crate::components::tabs::Tabs;
use crate::model::snippet::{Language, Snippet, curl_until_denied};
use crate::pages::shell::TenantId;

#[component]
pub(super) fn Snippets(secret: String, check: CheckBody) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let replicas = fetch_data(move || api.replicas(&tenant.get()));
    let tabs = move |gate: &str| {
        let (gate, secret, check) = (gate_address(gate), secret.clone(), check.clone());
        let panel = move |at: usize| code(&gate, &secret, &check, Language::ALL[at]).into_any();
        let names = Language::ALL.map(Language::label).to_vec();
        view! { <Tabs label="Language" names chosen=RwSignal::new(0).into() panel=Callback::new(panel) /> }.into_any()
    };
    view! {
        <section class="panel" aria-label="Send a check">
            <h2>"4. Send a check from your code"</h2>
            <p class="note">"Run this code. The decision of the gate appears below."</p>
            {show(replicas, move |replicas| match replicas.data.first().and_then(|gate| gate.address.as_deref()) {
                Some(address) => tabs(address),
                None => view! { <p>"No gates are running, so checks cannot be sent yet."</p> }.into_any(),
            })}
        </section>
    }
}

fn code(gate: &str, secret: &str, check: &CheckBody, language: Language) -> impl IntoView + use<> {
    let text = Snippet { gate, key: secret, check }.text(language);
    let label = format!("Copy {} code", language.label());
    let until_denied = (language == Language::Curl).then(|| {
        let text = curl_until_denied(gate, Some(secret), check);
        view! {
            <h3>"Loop until denied"</h3>
            <CodeBlock code=text label="Copy loop" />
        }
    });
    view! {
        <div class="stack">
            <p class="note">{language.run()}</p>
            <CodeBlock code=text label />
            {until_denied}
        </div>
    }
}
