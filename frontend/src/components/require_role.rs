//! Controls that require a role: shown but disabled, with the reason, for people without it.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::tenants::Role;

use crate::access::Access;

/// Disables everything inside for people without the role, and shows the reason.
#[component]
pub fn RequireRole(
    role: Role,
    /// The reason is already shown elsewhere on the page.
    #[prop(optional)]
    reason_shown: bool,
    children: Children,
) -> impl IntoView {
    let access = expect_context::<Access>();
    let problem = Memo::new(move |_| access.missing_role(role));
    view! {
        <fieldset class="requires-role" disabled=move || problem.with(Option::is_some)>
            {move || problem.get().filter(|_| !reason_shown).map(|reason| view! { <p class="note">{reason}</p> })}
            {children()}
        </fieldset>
    }
}

/// The button of a page's main action, for people with the role.
#[component]
pub fn RoleButton(
    role: Role,
    text: &'static str,
    #[prop(default = "button")] class: &'static str,
    /// The reason is already shown elsewhere on the page.
    #[prop(optional)]
    reason_shown: bool,
    #[prop(into)] on_press: Callback<()>,
) -> impl IntoView {
    let access = expect_context::<Access>();
    let missing = Memo::new(move |_| access.missing_role(role));
    let reason = move || missing.get().filter(|_| !reason_shown);
    view! {
        <span class="disabled-action">
            <button
                type="button"
                class=class
                disabled=move || missing.with(Option::is_some)
                on:click=move |_| on_press.run(())
            >
                {text}
            </button>
            {move || reason().map(|reason| view! { <span class="note">{reason}</span> })}
        </span>
    }
}

/// A link to a page that requires a role; a disabled button for people without it.
#[component]
pub fn RoleLink(
    role: Role,
    #[prop(into)] href: Signal<String>,
    #[prop(into)] text: String,
    /// The primary action of the page.
    #[prop(optional)]
    primary: bool,
) -> impl IntoView {
    let access = expect_context::<Access>();
    let class = if primary { "button primary" } else { "button" };
    let text = StoredValue::new(text);
    move || {
        match access.missing_role(role) {
        None => view! { <A href=move || href.get() attr:class=class>{text.get_value()}</A> }.into_any(),
        Some(reason) => view! {
            <span class="disabled-action">
                <button type="button" class=class disabled=true title=reason.clone()>{text.get_value()}</button>
                <span class="note">{reason}</span>
            </span>
        }
        .into_any(),
    }
    }
}
