//! Try it: how the rules would meet a request, with nothing counted, and a real check at a gate.

mod real;
mod tested;

use std::collections::BTreeMap;

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use weir_wire::check::{CheckBody, CheckMode};

use crate::components::field::TextField;
use crate::components::page::PageHead;
use crate::model::number::typed;
use crate::model::request_link::attributes;
use real::RealCheck;
use tested::Test;

/// The page.
#[component]
pub fn Try() -> impl IntoView {
    let request = RequestForm::of_address();
    view! {
        <PageHead title="Try it" lead="Describe a request and see what your rules make of it." />
        <form class="panel" aria-label="Request" on:submit=|event| event.prevent_default()>
            <Fields request />
        </form>
        <Test request />
        <RealCheck request />
    }
}

/// The request as it is typed; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestForm {
    namespace: RwSignal<String>,
    cost: RwSignal<String>,
    rows: RwSignal<Vec<Attribute>>,
}

/// One attribute; the number names the row.
#[derive(Debug, Clone, Copy)]
struct Attribute {
    row: u32,
    name: RwSignal<String>,
    value: RwSignal<String>,
}

impl RequestForm {
    /// As the address has it; other pages lead here with a request of theirs.
    fn of_address() -> Self {
        let query = use_query_map().get_untracked();
        let namespace = query.get("namespace").unwrap_or_else(|| "default".to_owned());
        let mut given = attributes(&query.get("attributes").unwrap_or_default());
        if given.is_empty() {
            given.insert("user".to_owned(), String::new());
        }
        let new = Self {
            namespace: RwSignal::new(namespace),
            cost: RwSignal::new("1".to_owned()),
            rows: RwSignal::new(Vec::new()),
        };
        for (name, value) in given {
            new.add(&name, &value);
        }
        new
    }

    fn add(self, name: &str, value: &str) {
        let (name, value) = (RwSignal::new(name.to_owned()), RwSignal::new(value.to_owned()));
        self.rows.update(|rows| {
            let row = rows.last().map_or(0, |last| last.row + 1);
            rows.push(Attribute { row, name, value });
        });
    }

    /// The check as it would be sent; a cost that cannot be read is 0, which is refused. Tracked.
    fn body(self) -> CheckBody {
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
fn Fields(request: RequestForm) -> impl IntoView {
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
