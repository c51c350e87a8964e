//! `Show` and `For` of Leptos, which are compiled anew for each use. These are compiled once: they know neither their conditions nor
//! their rows.

use std::sync::Arc;

use leptos::prelude::*;

/// Shows its children while a condition holds, and otherwise the fallback. They are created only when the condition
/// changes.
#[component(transparent)]
pub fn Show<Condition: Fn() -> bool + Send + Sync + 'static>(
    when: Condition,
    #[prop(optional, into)] fallback: ViewFn,
    children: ChildrenFn,
) -> impl IntoView {
    shown_when(Box::new(when), fallback, children)
}

fn shown_when(
    when: Box<dyn Fn() -> bool + Send + Sync>,
    fallback: ViewFn,
    children: ChildrenFn,
) -> AnyView {
    let when = ArcMemo::new(move |_| when());
    let shown = move || {
        let when = when.get();
        (when.then(|| children()), (!when).then(|| fallback.run()))
    };
    shown.into_any()
}

/// A view that is created again when a signal changes that it reads.
pub fn dynamic(view: Box<dyn Fn() -> AnyView + Send>) -> AnyView {
    (move || view()).into_any()
}

/// The views of rows. Rows whose key stays keep their views.
#[component(transparent)]
pub fn For<Row, Each, Key, KeyOf, Children, View>(
    each: Each,
    key: KeyOf,
    children: Children,
) -> impl IntoView
where
    Row: Send + 'static,
    Each: Fn() -> Vec<Row> + Send + Sync + 'static,
    Key: ToString,
    KeyOf: Fn(&Row) -> Key + Send + Sync + 'static,
    Children: Fn(Row) -> View + Send + Sync + 'static,
    View: IntoView + 'static,
{
    let children = Arc::new(children);
    let item = move |row: Row| {
        let (key, children) = (key(&row).to_string(), children.clone());
        Item { key, view: Box::new(move || children(row).into_any()) }
    };
    items(Box::new(move || each().into_iter().map(&item).collect()))
}

/// A row that is not shown yet.
struct Item {
    key: String,
    view: Box<dyn FnOnce() -> AnyView + Send>,
}

fn items(each: Box<dyn Fn() -> Vec<Item> + Send + Sync>) -> AnyView {
    view! {
        <leptos::prelude::For each key=|item| item.key.clone() children=|item: Item| (item.view)() />
    }
    .into_any()
}
