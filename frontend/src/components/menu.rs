//! Menus: a button that opens a list of actions above the page.

use leptos::html;
use leptos::prelude::*;
use leptos_router::components::A;

use crate::browser;
use crate::components::control_flow::Show;
use crate::components::field::fresh_id;
use crate::components::icon::Icon;

/// The id of the list, which its items close.
#[derive(Debug, Clone)]
struct MenuId(String);

/// A button and its menu. The arrow keys move between the items; Escape and a press outside close it.
#[component]
pub fn Menu(
    /// The label of the button for screen readers.
    #[prop(into)]
    label: Signal<String>,
    #[prop(default = "button plain-button icon-button")] class: &'static str,
    /// The content of the button.
    trigger: AnyView,
    children: ChildrenFn,
) -> impl IntoView {
    let id = fresh_id();
    let list = NodeRef::<html::Div>::new();
    let (open, place) = (RwSignal::new(false), RwSignal::new(browser::Anchor::default()));
    provide_context(MenuId(id.clone()));
    let locate = move |event: leptos::ev::MouseEvent| {
        place.set(browser::place_beside(&event));
    };
    let toggled = move |_| {
        let is_open = list.get_untracked().is_some_and(|list| browser::is_popover_open(&list));
        open.set(is_open);
        if is_open {
            request_animation_frame(move || {
                move_focus(list, "Home");
            });
        }
    };
    let keys = move |event: leptos::ev::KeyboardEvent| {
        if move_focus(list, &event.key()) {
            event.prevent_default();
        }
    };
    let offset = move |side: fn(browser::Anchor) -> Option<i32>| {
        move || side(place.get()).map_or_else(|| "auto".to_owned(), |px| format!("{px}px"))
    };
    view! {
        <button
            type="button"
            class=class
            aria-label=label
            aria-haspopup="menu"
            aria-expanded=move || open.get().to_string()
            popovertarget=id.clone()
            on:click=locate
        >
            {trigger}
        </button>
        <div
            id=id
            class="menu"
            popover="auto"
            role="menu"
            aria-label=label
            node_ref=list
            style:top=offset(|place| place.top)
            style:bottom=offset(|place| place.bottom)
            style:left=offset(|place| place.left)
            style:right=offset(|place| place.right)
            on:toggle=toggled
            on:keydown=keys
        >
            <Show when=move || open.get()>{children()}</Show>
        </div>
    }
}

/// An action of a menu.
#[component]
pub fn MenuItem(
    icon: &'static str,
    #[prop(into)] text: Signal<String>,
    /// The action destroys something.
    #[prop(optional)]
    danger: bool,
    #[prop(into)] on_press: Callback<()>,
) -> impl IntoView {
    let MenuId(id) = expect_context();
    view! {
        <button
            type="button"
            role="menuitem"
            tabindex="-1"
            class:danger=danger
            popovertarget=id
            popovertargetaction="hide"
            on:click=move |_| on_press.run(())
        >
            <Icon name=icon />{text}
        </button>
    }
}

/// A choice of a menu, which stays open.
#[component]
pub fn MenuChoice(
    icon: &'static str,
    #[prop(into)] text: String,
    #[prop(into)] chosen: Signal<bool>,
    #[prop(into)] on_press: Callback<()>,
) -> impl IntoView {
    view! {
        <button
            type="button"
            role="menuitemradio"
            tabindex="-1"
            aria-checked=move || chosen.get().to_string()
            on:click=move |_| on_press.run(())
        >
            <Icon name=icon />{text}<Show when=move || chosen.get()><Icon name="check" /></Show>
        </button>
    }
}

/// A link of a menu to a page of the dashboard.
#[component]
pub fn MenuLink(
    icon: &'static str,
    text: &'static str,
    #[prop(into)] href: String,
) -> impl IntoView {
    let MenuId(id) = expect_context();
    view! {
        <A href=href attr:role="menuitem" attr:tabindex="-1" on:click=move |_| browser::hide_popover(&id)>
            <Icon name=icon />{text}
        </A>
    }
}

/// A link of a menu to a page outside the dashboard, in a new tab.
#[component]
pub fn MenuExternal(icon: &'static str, text: &'static str, href: &'static str) -> impl IntoView {
    view! {
        <a href=href rel="external" target="_blank" role="menuitem" tabindex="-1">
            <Icon name=icon />{text}
        </a>
    }
}

#[component]
pub fn MenuSeparator() -> impl IntoView {
    view! { <div role="separator"></div> }
}

/// Moves the focus to the next, previous, first or last item. Returns whether the key does this.
fn move_focus(list: NodeRef<html::Div>, key: &str) -> bool {
    let Some(list) = list.get_untracked() else { return false };
    let children = list.children();
    let items: Vec<_> = (0..children.length())
        .filter_map(|at| children.item(at))
        .filter(|item| item.get_attribute("role").is_some_and(|role| role != "separator"))
        .collect();
    let count = items.len();
    if count == 0 {
        return false;
    }
    let focused = document().active_element();
    let now = items.iter().position(|item| Some(item) == focused.as_ref());
    let next = match key {
        "ArrowDown" => now.map_or(0, |now| (now + 1) % count),
        "ArrowUp" => now.map_or(count - 1, |now| (now + count - 1) % count),
        "Home" => 0,
        "End" => count - 1,
        _ => return false,
    };
    browser::focus(items.into_iter().nth(next));
    true
}
