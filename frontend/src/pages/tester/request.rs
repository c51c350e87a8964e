//! The request: namespace, cost and attributes, typed or taken over from the address.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use leptos::prelude::*;
use weir_wire::check::{CheckBody, CheckMode};

use crate::components::field::TextField;
use crate::model::number::typed;

/// The request as it is typed; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestForm {
    namespace: RwSignal<String>,
    cost: RwSignal<String>,
    rows: RwSignal<Vec<Attribute>>,
    /// What is typed lives as long as the page, whoever adds its row.
    page: StoredValue<Owner>,
}

/// One attribute; the number names the row.
#[derive(Debug, Clone, Copy)]
struct Attribute {
    row: u32,
    name: RwSignal<String>,
    value: RwSignal<String>,
}

impl RequestForm {
    pub fn new() -> Self {
        Self {
            namespace: RwSignal::new("default".to_owned()),
            cost: RwSignal::new("1".to_owned()),
            rows: RwSignal::new(Vec::new()),
            page: StoredValue::new(Owner::current().expect("a page is being made")),
        }
    }

    /// Takes over the request of the address, to which other pages lead with one of theirs. Returns whether there is one to
    /// test that is not this one already.
    pub fn take(self, namespace: Option<String>, mut given: BTreeMap<String, String>) -> bool {
        let complete = !given.is_empty() && given.values().all(|value| !value.is_empty());
        let now = untrack(|| self.body());
        let namespace = namespace.unwrap_or_else(|| now.namespace.clone());
        let rows = self.rows.with_untracked(|rows| !rows.is_empty());
        if rows && (given.is_empty() || (&namespace, &given) == (&now.namespace, &now.attributes)) {
            return false;
        }
        if given.is_empty() {
            given.insert("user".to_owned(), String::new());
        }
        self.namespace.set(namespace);
        self.rows.set(Vec::new());
        for (name, value) in given {
            self.add(&name, &value);
        }
        complete
    }

    fn add(self, name: &str, value: &str) {
        let typed =
            |text: &str| self.page.with_value(|page| page.with(|| RwSignal::new(text.to_owned())));
        let (name, value) = (typed(name), typed(value));
        self.rows.update(|rows| {
            let row = NEXT_ROW.fetch_add(1, Ordering::Relaxed);
            rows.push(Attribute { row, name, value });
        });
    }

    /// The check as it would be sent; a cost that cannot be read is 0, which is refused. Tracked.
    pub fn body(self) -> CheckBody {
        let attributes: BTreeMap<String, String> = self
            .rows
            .get()
            .iter()
            .map(|it| (it.name.get().trim().to_owned(), it.value.get()))
            .filter(|(name, value)| !name.is_empty() && !value.is_empty())
            .collect();
        CheckBody {
            namespace: self.namespace.get().trim().to_owned(),
            attributes,
            cost: typed(&self.cost.get()).unwrap_or(0),
            mode: CheckMode::Consume,
            idempotency_key: None,
        }
    }

    /// What is wrong with a field, by its place in the body.
    fn problem(self, field: impl Fn() -> String + Send + Sync + 'static) -> Signal<Option<String>> {
        Signal::derive(move || {
            let wrong = self.body().parse().err().unwrap_or_default();
            let field = field();
            wrong.into_iter().find(|it| it.field == field).map(|it| it.reason)
        })
    }
}

#[component]
pub(super) fn Fields(request: RequestForm) -> impl IntoView {
    view! {
        <div class="row">
            <TextField label="Namespace" value=request.namespace problem=request.problem(|| "namespace".to_owned()) />
            <TextField label="Cost" short=true value=request.cost problem=request.problem(|| "cost".to_owned()) />
        </div>
        <For each=move || request.rows.get() key=|it| it.row let:attribute>
            <AttributeFields request attribute />
        </For>
        <button type="button" class="button" on:click=move |_| request.add("", "")>"Add an attribute"</button>
    }
}

#[component]
fn AttributeFields(request: RequestForm, attribute: Attribute) -> impl IntoView {
    let remove = move |_| request.rows.update(|rows| rows.retain(|it| it.row != attribute.row));
    let problem = request.problem(move || format!("attributes.{}", attribute.name.get().trim()));
    view! {
        <div class="row" role="group" aria-label="Attribute">
            <TextField label="Attribute" value=attribute.name />
            <TextField label="Value" value=attribute.value problem />
            <button type="button" class="button quiet-button" aria-label="Remove the attribute" on:click=remove>"Remove"</button>
        </div>
    }
}

/// Rows are never named alike, not even those of one request after another.
static NEXT_ROW: AtomicU32 = AtomicU32::new(0);
