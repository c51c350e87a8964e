//! The request to test: namespace, cost and attributes, entered or read from the URL.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use weir_wire::check::{CheckBody, CheckMode};

use crate::components::control_flow::For;
use crate::components::field::TextField;
use crate::components::namespace::SharedNamespace;
use crate::components::seen::SeenAttributes;
use crate::model::number::parse;
use crate::pages::namespace_filter::known_namespaces;

/// The input of the request; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestForm {
    namespace: RwSignal<String>,
    cost: RwSignal<String>,
    rows: RwSignal<Vec<Attribute>>,
    /// The owner of the input signals, so that they live as long as the page, whichever code adds a row.
    page: StoredValue<Owner>,
}

/// One attribute; `row` identifies it on the page.
#[derive(Debug, Clone, Copy)]
struct Attribute {
    row: u32,
    name: RwSignal<String>,
    value: RwSignal<String>,
}

impl RequestForm {
    pub fn new() -> Self {
        Self {
            namespace: RwSignal::new(initial_namespace()),
            cost: RwSignal::new("1".to_owned()),
            rows: RwSignal::new(Vec::new()),
            page: StoredValue::new(Owner::current().expect("a page is being made")),
        }
    }

    /// Reads the request from the URL, to which other pages link. Returns whether there is a request to test that
    /// differs from the current one.
    pub fn take(
        self,
        namespace: Option<String>,
        mut given: BTreeMap<String, String>,
        cost: u64,
    ) -> bool {
        let complete = !given.is_empty() && given.values().all(|value| !value.is_empty());
        let now = untrack(|| self.body());
        let namespace = namespace.unwrap_or_else(|| now.namespace.clone());
        let rows = self.rows.with_untracked(|rows| !rows.is_empty());
        if rows
            && (given.is_empty()
                || (&namespace, &given, cost) == (&now.namespace, &now.attributes, now.cost))
        {
            return false;
        }
        if given.is_empty() {
            given.insert("user".to_owned(), String::new());
        }
        self.namespace.set(namespace);
        self.cost.set(cost.to_string());
        self.rows.set(Vec::new());
        for (name, value) in given {
            self.add(&name, &value);
        }
        complete
    }

    fn add(self, name: &str, value: &str) {
        let signal =
            |text: &str| self.page.with_value(|page| page.with(|| RwSignal::new(text.to_owned())));
        let (name, value) = (signal(name), signal(value));
        self.rows.update(|rows| {
            let row = NEXT_ROW.fetch_add(1, Ordering::Relaxed);
            rows.push(Attribute { row, name, value });
        });
    }

    /// The check to send; a cost that cannot be parsed becomes 0, which the API rejects. Tracked.
    pub fn body(self) -> CheckBody {
        let attributes: BTreeMap<String, String> = self
            .rows
            .get()
            .iter()
            .map(|attribute| (attribute.name.get().trim().to_owned(), attribute.value.get()))
            .filter(|(name, value)| !name.is_empty() && !value.is_empty())
            .collect();
        CheckBody {
            namespace: self.namespace.get().trim().to_owned(),
            attributes,
            cost: parse(&self.cost.get()).unwrap_or(0),
            mode: CheckMode::Consume,
            idempotency_key: None,
        }
    }

    /// The problem of a field, by its path in the body.
    fn problem(self, field: impl Fn() -> String + Send + Sync + 'static) -> Signal<Option<String>> {
        Signal::derive(move || {
            let wrong = self.body().parse().err().unwrap_or_default();
            let field = field();
            wrong.into_iter().find(|problem| problem.field == field).map(|problem| problem.reason)
        })
    }
}

/// The namespace that the pages before were filtered by, or that of checks without one.
fn initial_namespace() -> String {
    let last = expect_context::<SharedNamespace>().now();
    if last.is_empty() { DEFAULT_NAMESPACE.to_owned() } else { last }
}

/// Begins with the first namespace that has rules, if the default one has none.
fn prefer_known(request: RequestForm, known: Signal<BTreeSet<String>>) {
    let is_named = use_query_map().with_untracked(|query| query.get("namespace").is_some());
    Effect::new(move |_| {
        let first = known.with(|known| {
            let has_default = known.contains(DEFAULT_NAMESPACE);
            known.first().filter(|_| !has_default).cloned()
        });
        let is_untouched = !is_named
            && request.namespace.with_untracked(|name| name == DEFAULT_NAMESPACE)
            && untrack(|| request.body().attributes.is_empty());
        if let Some(first) = first.filter(|_| is_untouched) {
            request.namespace.set(first);
        }
    });
}

#[component]
pub(super) fn Fields(request: RequestForm) -> impl IntoView {
    let known = known_namespaces();
    prefer_known(request, known);
    let namespaces = Signal::derive(move || known.get().into_iter().collect::<Vec<_>>());
    view! {
        <div class="row">
            <TextField label="Namespace" value=request.namespace suggestions=namespaces problem=request.problem(|| "namespace".to_owned()) />
            <TextField label="Cost" short=true value=request.cost problem=request.problem(|| "cost".to_owned()) />
        </div>
        <For each=move || request.rows.get() key=|attribute| attribute.row let:attribute>
            <AttributeFields request attribute />
        </For>
        <button type="button" class="button" on:click=move |_| request.add("", "")>"Add attribute"</button>
    }
}

#[component]
fn AttributeFields(request: RequestForm, attribute: Attribute) -> impl IntoView {
    let remove = move |_| request.rows.update(|rows| rows.retain(|row| row.row != attribute.row));
    let seen = expect_context::<SeenAttributes>();
    let (names, values) = (seen.names(), seen.values(move || attribute.name.get()));
    let problem = request.problem(move || format!("attributes.{}", attribute.name.get().trim()));
    view! {
        <div class="row" role="group" aria-label="Attribute">
            <TextField label="Attribute" value=attribute.name suggestions=names />
            <TextField label="Value" value=attribute.value problem suggestions=values />
            <button type="button" class="button plain-button" aria-label="Remove attribute" on:click=remove>"Remove"</button>
        </div>
    }
}

/// The namespace of checks that name none.
const DEFAULT_NAMESPACE: &str = "default";

/// Row numbers are unique across requests.
static NEXT_ROW: AtomicU32 = AtomicU32::new(0);
