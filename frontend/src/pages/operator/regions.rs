//! The regions of the installation: a table of them, and the commands of the first one.

use futures_util::FutureExt as _;
use leptos::prelude::*;
use weir_wire::regions::{RegionBody, RegionsBody};

use super::frame::OperatorFrame;
use crate::api::{Answer, Api};
use crate::components::copy::CodeBlock;
use crate::components::dialog::Dialog;
use crate::components::feedback::Empty;
use crate::components::field::TextField;
use crate::components::guide_link::GuideLink;
use crate::components::remote_data::{RemoteData, fetch_data, show_table};
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::table::{ConfirmedCall, ObjectTable, RowButton};

#[component]
pub fn OperatorRegions() -> impl IntoView {
    view! {
        <OperatorFrame title="Regions" lead="Data centres with gates and a Redis of their own">
            <Registry />
        </OperatorFrame>
    }
}

/// The form of a region; cheap to copy.
#[derive(Debug, Clone, Copy)]
struct Form {
    open: RwSignal<bool>,
    name: RwSignal<String>,
    /// The addresses, separated by commas.
    gates: RwSignal<String>,
    action: SubmitAction,
}

impl Form {
    fn show(self, name: String, gates: &[String]) {
        self.name.set(name);
        self.gates.set(gates.join(", "));
        self.action.problem.set(None);
        self.open.set(true);
    }

    fn region(self) -> RegionBody {
        let text = self.gates.get_untracked();
        let gates = text.split([',', ' ', '\n']).filter(|gate| !gate.is_empty());
        RegionBody {
            name: self.name.get_untracked().trim().to_owned(),
            gates: gates.map(str::to_owned).collect(),
        }
    }
}

#[component]
fn Registry() -> impl IntoView {
    let api = expect_context::<Api>();
    let regions = fetch_data(move || api.regions());
    let form = Form {
        open: RwSignal::new(false),
        name: RwSignal::new(String::new()),
        gates: RwSignal::new(String::new()),
        action: SubmitAction::new(),
    };
    let body = move |known: RegionsBody| {
        if known.regions.is_empty() {
            view! { <SetUp /> }.into_any()
        } else {
            view! { <Regions known regions form /> }.into_any()
        }
    };
    view! {
        <div class="actions">
            <button type="button" class="button primary" on:click=move |_| form.show(String::new(), &[])>"Add region"</button>
        </div>
        {show_table(regions, body)}
        <RegionForm form regions />
    }
}

#[component]
fn SetUp() -> impl IntoView {
    let add = "weir regions add eu --gates https://gate-1.eu.example.com:8443 --home";
    view! {
        <Empty title="No regions">
            <p>"All gates share one Redis. Regions have gates and a Redis of their own; a rule with reach world counts in all of them together. "<GuideLink page="operate/regions" text="About regions" /></p>
            <p>"1. Print the key that signs calls between regions, and give it to all gates:"</p>
            <CodeBlock code="weir region-key" label="Copy command" />
            <p>"2. Register the first region, which is the home:"</p>
            <CodeBlock code=add label="Copy command" />
        </Empty>
    }
}

#[component]
fn Regions(known: RegionsBody, regions: RemoteData<RegionsBody>, form: Form) -> impl IntoView {
    let is_only = known.regions.len() == 1;
    let row = |region: RegionBody| {
        let is_home = known.home.as_ref() == Some(&region.name);
        let gates: Vec<_> =
            region.gates.iter().map(|gate| view! { <div>{gate.clone()}</div> }).collect();
        let name = region.name.clone();
        let edit = move |()| form.show(region.name.clone(), &region.gates);
        view! {
            <tr>
                <td class="name">{name.clone()}" "{is_home.then(|| view! { <span class="badge badge-allowed">"Home"</span> })}</td>
                <td class="text-cell">{gates}</td>
                <td class="number row-actions many-actions">
                    <RowButton text="Edit" label=format!("Edit {name}") on_press=edit />
                    {(!is_home).then(|| view! { <Promote name=name.clone() regions /> })}
                    {(!is_home || is_only).then(|| view! { <Remove name regions /> })}
                </td>
            </tr>
        }
    };
    let rows: Vec<_> = known.regions.into_iter().map(row).collect();
    view! {
        <ObjectTable label="Regions" columns=&["Region", "Gates"]>{rows}</ObjectTable>
        <p class="note">"Counters of rules with reach world are in the Redis of the home. Gates follow a change within two seconds. "<GuideLink page="operate/regions" text="About regions" /></p>
    }
}

#[component]
fn Promote(name: String, regions: RemoteData<RegionsBody>) -> impl IntoView {
    let api = expect_context::<Api>();
    let promoted = name.clone();
    let call = Callback::new(move |()| {
        let name = promoted.clone();
        change(api, move |regions| regions.home = Some(name))
    });
    let consequence = format!(
        "Rules with reach world are counted in {name} from then on, where their counters begin unused: each limit with reach world \
         admits at most its units once more."
    );
    view! {
        <ConfirmedCall text="Promote" name title="Make this region the home?" consequence confirm="Promote" call done=Callback::new(move |()| regions.refetch()) />
    }
}

#[component]
fn Remove(name: String, regions: RemoteData<RegionsBody>) -> impl IntoView {
    let api = expect_context::<Api>();
    let removed = name.clone();
    let call = Callback::new(move |()| {
        let name = removed.clone();
        change(api, move |regions| {
            regions.regions.retain(|region| region.name != name);
            if regions.regions.is_empty() {
                regions.home = None;
            }
        })
    });
    let consequence = format!("A gate with the WEIR_REGION {name} does not start any more.");
    view! {
        <ConfirmedCall text="Remove" name title="Remove this region?" consequence confirm="Remove" call done=Callback::new(move |()| regions.refetch()) />
    }
}

#[component]
fn RegionForm(form: Form, regions: RemoteData<RegionsBody>) -> impl IntoView {
    let api = expect_context::<Api>();
    let save = Callback::new(move |()| {
        let region = form.region();
        form.action.run(change(api, move |regions| put(regions, region)), move |()| {
            form.open.set(false);
            regions.refetch();
        });
    });
    let incomplete = Signal::derive(move || {
        form.name.with(|name| name.trim().is_empty())
            || form.gates.with(|gates| gates.trim().is_empty())
    });
    let is_first = move || regions.data().is_some_and(|known| known.regions.is_empty());
    view! {
        <Dialog title="Region" open=form.open>
            <SubmitForm action=form.action submit="Save region" on_submit=save incomplete class="stack" cancel=Callback::new(move |()| form.open.set(false))>
                {move || is_first().then(|| view! { <p>"The first region is the home. From then on, a gate starts only with the WEIR_REGION of a region."</p> })}
                <TextField label="Name" value=form.name hint="The WEIR_REGION of its gates. A region that has this name gets the addresses below." />
                <TextField label="Addresses of its gates" value=form.gates hint="Their internal listeners, such as https://gate-1.eu.example.com:8443, separated by commas" />
            </SubmitForm>
        </Dialog>
    }
}

/// Adds a region, the home if it is the first, or replaces the gates of the one with its name.
fn put(regions: &mut RegionsBody, region: RegionBody) {
    if regions.regions.is_empty() {
        regions.home = Some(region.name.clone());
    }
    match regions.regions.iter_mut().find(|known| known.name == region.name) {
        Some(known) => known.gates = region.gates,
        None => regions.regions.push(region),
    }
}

/// Changes the regions as they are now, because another operator can have changed them since they were shown.
fn change(api: Api, change: impl FnOnce(&mut RegionsBody) + 'static) -> Answer<()> {
    async move {
        let mut regions = api.regions().await?;
        change(&mut regions);
        api.set_regions(&regions).await.map(drop)
    }
    .boxed_local()
}
