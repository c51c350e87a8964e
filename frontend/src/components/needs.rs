//! Controls that need a role: for others they are there, off, and say why.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::tenants::Role;

use crate::access::Access;

/// Everything inside is off for whoever has too low a role, with the reason above it.
#[component]
pub fn Needs(
    role: Role,
    /// The reason stands elsewhere on the page already.
    #[prop(optional)]
    told: bool,
    children: Children,
) -> impl IntoView {
    let access = expect_context::<Access>();
    let lacks = Memo::new(move |_| access.lacks(role));
    view! {
        <fieldset class="needs" disabled=move || lacks.with(Option::is_some)>
            {move || lacks.get().filter(|_| !told).map(|why| view! { <p class="note">{why}</p> })}
            {children()}
        </fieldset>
    }
}

/// A link to a page for which one needs a role; for others a button that is off.
#[component]
pub fn ActLink(
    role: Role,
    #[prop(into)] href: Signal<String>,
    #[prop(into)] text: String,
    /// The one thing to do on this page.
    #[prop(optional)]
    primary: bool,
) -> impl IntoView {
    let access = expect_context::<Access>();
    let class = if primary { "button primary" } else { "button" };
    let text = StoredValue::new(text);
    move || {
        match access.lacks(role) {
        None => view! { <A href=move || href.get() attr:class=class>{text.get_value()}</A> }.into_any(),
        Some(why) => view! {
            <span class="off">
                <button type="button" class=class disabled=true title=why.clone()>{text.get_value()}</button>
                <span class="note">{why}</span>
            </span>
        }
        .into_any(),
    }
    }
}
