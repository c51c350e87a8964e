//! The menu of the signed-in person: theme, density, time zone, documentation, signing out.

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use super::shortcuts::ShortcutsOpen;
use super::tenant::TenantId;
use crate::api::Api;
use crate::browser;
use crate::components::icon::Icon;
use crate::components::menu::{Menu, MenuChoice, MenuExternal, MenuItem, MenuLink, MenuSeparator};
use crate::components::theme::Appearance;
use crate::session::{Session, SessionState};

#[component]
pub fn Account() -> impl IntoView {
    let (session, api) = (expect_context::<Session>(), expect_context::<Api>());
    let email = move || match session.state() {
        SessionState::SignedIn(signed_in) => signed_in.user.email,
        SessionState::Unknown | SessionState::SignedOut(_) => String::new(),
    };
    let initial = move || email().chars().next().map(|first| first.to_uppercase().to_string());
    let trigger = view! {
        <span class="avatar" aria-hidden="true" data-initial=initial></span>
        <span class="email">{email}</span>
        <Icon name="chevrons-up-down" />
    };
    let label = Signal::derive(move || format!("{} (account)", email()));
    let density = expect_context::<Appearance>();
    let navigate = use_navigate();
    let tenants = Callback::new(move |()| navigate("/tenants", NavigateOptions::default()));
    // The menu renders its content each time it opens.
    let themes = move || {
        let theme = Appearance::theme();
        [("system", "monitor", "System theme"), ("light", "sun", "Light theme"), ("dark", "moon", "Dark theme")]
            .map(|(value, icon, text)| view! {
                <MenuChoice icon text chosen=Signal::derive(move || theme.get() == value) on_press=move |()| theme.set(value) />
            })
    };
    let tenant = use_context::<TenantId>();
    let start = move || {
        tenant.map(|tenant| view! { <MenuLink icon="rocket" text="Get started" href=tenant.page_now("start") /> })
    };
    let shortcuts = use_context::<ShortcutsOpen>();
    let shortcuts = move || {
        shortcuts.map(|open| view! { <MenuItem icon="keyboard" text="Keyboard shortcuts" on_press=move |()| open.0.set(true) /> })
    };
    view! {
        <Menu label class="account" trigger=trigger.into_any()>
            {themes()}
            <MenuSeparator />
            {[("comfortable", "rows-3", "Comfortable rows"), ("compact", "layers", "Compact rows")]
                .map(|(value, icon, text)| view! {
                    <MenuChoice icon text chosen=Signal::derive(move || density.get() == value) on_press=move |()| density.set(value) />
                })}
            <MenuSeparator />
            {[(false, "Times of this computer"), (true, "Times in UTC")].map(|(utc, text)| view! {
                <MenuChoice icon="clock" text chosen=Signal::stored(browser::shows_utc() == utc) on_press=move |()| browser::show_utc(utc) />
            })}
            <MenuSeparator />
            {start()}
            {shortcuts()}
            <MenuExternal icon="book-open" text="Guide" href="/guide/" />
            <MenuExternal icon="external-link" text="API reference" href="/docs" />
            <MenuSeparator />
            <MenuItem icon="layers" text="All tenants" on_press=tenants />
            <MenuItem icon="log-out" text="Sign out" on_press=move |()| spawn_local(api.sign_out()) />
        </Menu>
    }
}
