//! The attributes that a request of a client would have. Computed here, by the code of the gates; nothing is sent.

use leptos::prelude::*;
use weir_domain::profile::MissingHeader;
use weir_domain::request::Request;

use crate::components::feedback::Warning;
use crate::components::field::{TextArea, TextField};
use crate::model::profile_text::{ClientRequest, check_of, parse};

#[component]
pub(super) fn ProfileTester(typed: RwSignal<String>) -> impl IntoView {
    let text = |value: &str| RwSignal::new(value.to_owned());
    let (method, target) = (text("GET"), text("/v1/me?page=2"));
    let (host, address) = (text("shop.example"), text("192.0.2.7"));
    let headers = text("");
    let shown = move || {
        let client = ClientRequest {
            method: method.get(),
            target: target.get(),
            host: host.get(),
            address: address.get(),
            headers: headers.get(),
        };
        let profile = typed.with(|typed| parse(typed).ok());
        profile.map(|(_, profile)| match check_of(&profile, &client) {
            Ok(check) => attributes(&check),
            Err(MissingHeader(name)) => {
                let text = format!("The proxy sends no {name}.");
                view! { <Warning><p>{text}</p></Warning> }.into_any()
            }
        })
    };
    let is_domain = Memo::new(move |_| {
        typed.with(|typed| parse(typed).is_ok_and(|(_, profile)| profile.domain().is_some()))
    });
    let fields = move || {
        if is_domain.get() {
            return view! {
                <p>"The attributes of a descriptor. Nothing is sent."</p>
                <TextArea label="Entries of the descriptor" value=headers hint="One per line, such as remote_address: 192.0.2.7" code=true />
            }
            .into_any();
        }
        view! {
            <p>"The attributes of a client's request, if the proxy is configured as in the guide. Nothing is sent."</p>
            <div class="row">
                <TextField label="Method" value=method />
                <TextField label="Path and query" value=target />
            </div>
            <div class="row">
                <TextField label="Host" value=host />
                <TextField label="Client's address" value=address />
            </div>
            <TextArea label="Headers that the proxy passes on" value=headers hint="One per line, such as X-User: ada" code=true />
        }
        .into_any()
    };
    view! {
        <section class="panel" aria-label="Test the profile">
            <h3>"Test the profile"</h3>
            {fields}
            {shown}
        </section>
    }
}

fn attributes(check: &Request) -> AnyView {
    let row = |name: String, value: String| view! { <tr><th scope="row">{name}</th><td class="text-cell"><code>{value}</code></td></tr> };
    let attributes =
        check.attributes().iter().map(|(name, value)| row(name.clone(), value.clone()));
    let attributes: Vec<_> = attributes.collect();
    let key = check.idempotency_key().map_or_else(|| "none".to_owned(), ToOwned::to_owned);
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label="Attributes of the check">
            <table>
                <thead><tr><th scope="col">"Attribute"</th><th scope="col">"Value"</th></tr></thead>
                <tbody>{attributes}</tbody>
            </table>
        </div>
        <p class="muted">
            {format!("Namespace {}, cost {}, idempotency key {key}", check.namespace(), check.cost())}
        </p>
    }
    .into_any()
}
