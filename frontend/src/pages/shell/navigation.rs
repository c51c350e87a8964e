//! The navigation: groups of pages at the side, and tabs at the bottom of narrow screens.

use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_location;

use super::fired::Fired;
use super::tenant::{GROUPS, Page, TenantId};
use crate::components::dialog::Drawer;
use crate::components::icon::Icon;

/// The links to all pages of the tenant.
#[component]
pub(super) fn Navigation() -> impl IntoView {
    view! { <nav class="pages" aria-label="Pages">{groups()}</nav> }
}

fn groups() -> Vec<impl IntoView> {
    let group = |(name, pages): &(&'static str, &'static [Page])| {
        let links: Vec<_> = pages.iter().map(link).collect();
        view! { <p class="nav-group" aria-hidden="true">{*name}</p>{links} }
    };
    GROUPS.iter().map(group).collect()
}

fn link(page: &Page) -> impl IntoView + use<> {
    let tenant = expect_context::<TenantId>();
    let Page { path, name, icon } = *page;
    let count = (path == "alerts").then(|| {
        let fired = expect_context::<Fired>().0;
        move || {
            let count = Some(fired.get()).filter(|count| *count > 0);
            count.map(|count| view! { <span class="nav-count">{count}<span class="hidden">" fired in the last hour"</span></span> })
        }
    });
    view! { <A href=move || tenant.page(path)><Icon name=icon /><span>{name}</span>{count}</A> }
}

/// The tabs of narrow screens. The last one opens the links to all pages.
#[component]
pub(super) fn BottomTabs() -> impl IntoView {
    let open = RwSignal::new(false);
    let path = use_location().pathname;
    Effect::new(move |_| {
        path.track();
        open.set(false);
    });
    let pages = GROUPS.iter().flat_map(|(_, pages)| pages.iter());
    let tabs: Vec<_> = pages.filter(|page| TABS.contains(&page.path)).map(link).collect();
    view! {
        <nav class="bottom-tabs" aria-label="Main pages">
            {tabs}
            <button type="button" aria-haspopup="dialog" on:click=move |_| open.set(true)>
                <Icon name="menu" /><span>"More"</span>
            </button>
        </nav>
        <Drawer title="All pages" open><Navigation /></Drawer>
    }
}

const TABS: [&str; 4] = ["overview", "live", "rules", "overrides"];
