//! Creating and editing a profile as JSON, with a tester of the text in the form.

use leptos::prelude::*;
use weir_domain::warnings::of_profile;
use weir_wire::profiles::ProfileAnswer;
use weir_wire::words::Reads;

use super::state::ProxiesState;
use super::tester::ProfileTester;
use crate::api::Api;
use crate::components::feedback::remark;
use crate::components::field::{Binding, Choice, TextArea};
use crate::components::owner::OwnerQuestion;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::model::profile_text::{parse, template, text};
use crate::pages::shell::TenantId;

#[component]
pub(super) fn ProfileForm(editing: Option<ProfileAnswer>, state: ProxiesState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let is_new = editing.is_none();
    let written = editing.as_ref().map(|before| text(&before.profile));
    let set = editing.as_ref().and_then(|before| before.managed_by.clone());
    let confirmed = RwSignal::new(set.is_none());
    let typed = RwSignal::new(written.unwrap_or_else(|| template(Reads::ForwardAuth)));
    let fault = Signal::derive(move || typed.with(|typed| parse(typed).err()));
    let save = Callback::new(move |()| {
        let Ok((body, _)) = typed.with_untracked(|typed| parse(typed)) else { return };
        let before = editing.clone();
        let work = api.save_profile(&tenant.now(), before.as_ref(), &body);
        action.run(work, move |_| {
            state.open.try_set(false);
            state.changed.run(());
        });
    });
    let warnings = move || {
        let profile = typed.with(|typed| parse(typed).ok());
        let texts = profile.map(|(_, profile)| of_profile(&profile)).unwrap_or_default();
        texts.iter().map(|text| remark(text)).collect::<Vec<_>>()
    };
    let submit = if is_new { "Create profile" } else { "Save profile" };
    let incomplete = Signal::derive(move || fault.with(Option::is_some) || !confirmed.get());
    view! {
        <SubmitForm action submit on_submit=save incomplete cancel=Callback::new(move |()| state.open.set(false))>
            {is_new.then(|| view! { <Template typed /> })}
            {set.map(|set| view! { <OwnerQuestion set what="profile" confirmed /> })}
            <TextArea label="Profile" value=typed problem=fault rows=18 code=true />
            {warnings}
        </SubmitForm>
        <ProfileTester typed />
    }
}

/// Replaces the text by the profile of a kind of proxy.
#[component]
fn Template(typed: RwSignal<String>) -> impl IntoView {
    let chosen = RwSignal::new(Reads::ForwardAuth);
    let set = Callback::new(move |reads| {
        chosen.set(reads);
        typed.set(template(reads));
    });
    let value = Binding { value: chosen.into(), set };
    view! { <Choice label="Proxy" value options=Reads::choices() /> }
}
