//! The subjects that have used most of a limit.

use std::collections::BTreeSet;
use std::time::Duration;

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::subjects::{NearLimit, NearLimitAnswer};

use super::counters::meter;
use crate::api::Api;
use crate::components::control_flow::{For, Show};
use crate::components::feedback::{Empty, Skeleton};
use crate::components::field::Choice;
use crate::components::remote_data::{fetch_data, show_latest_shaped};
use crate::components::table::ObjectTable;
use crate::components::timer::repeat;
use crate::model::number::quantity;
use crate::model::subject_action::RuleSubject;
use crate::pages::shell::TenantId;
use crate::pages::subject_actions::{SubjectActions, SubjectMenu, SubjectQuestion};
use crate::pages::subject_link::subject_link;

/// The interval between two readings of the counters.
const REFRESH: Duration = Duration::from_secs(15);
/// The shares to choose from, in percent.
const PERCENTS: [u8; 4] = [50, 80, 90, 100];

/// The list for one rule, or for the rules of a namespace or of all.
#[component]
pub fn NearLimits(
    #[prop(optional)] rule: Option<String>,
    #[prop(optional)] namespace: Signal<String>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let percent = RwSignal::new(PERCENTS[1]);
    let names_rules = rule.is_none();
    let found = fetch_data(move || {
        let rule = rule.as_deref().unwrap_or_default();
        api.near_limit(&tenant.get(), rule, &namespace.get(), percent.get())
    });
    repeat(|| Some(REFRESH), move || found.poll());
    let actions = SubjectActions::new(Callback::new(move |()| found.refetch()));
    let options = PERCENTS.map(|percent| (percent, format!("{percent}% or more"))).to_vec();
    view! {
        <div class="page-head">
            <h2>{move || found.data().map(|found| title(&found))}</h2>
            <Choice label="Used" value=percent.into() options />
        </div>
        <SubjectQuestion actions />
        {show_latest_shaped(found, Skeleton::Table, move |found| view! {
            <Rows found names_rules actions />
        })}
    }
}

/// `27 subjects near a limit`
fn title(found: &NearLimitAnswer) -> String {
    let subjects: BTreeSet<_> = found.data.iter().map(|near| &near.subject).collect();
    format!("{} near a limit", quantity(subjects.len(), "subject", "subjects"))
}

#[component]
fn Rows(
    found: Signal<NearLimitAnswer>,
    names_rules: bool,
    actions: SubjectActions,
) -> impl IntoView {
    let none = Memo::new(move |_| found.with(|found| found.data.is_empty()));
    let known = move || {
        found.with(|found| {
            let inspected = quantity(
                usize::try_from(found.inspected).unwrap_or(usize::MAX),
                "counted subject",
                "counted subjects",
            );
            if found.complete {
                format!("All {inspected} of the last hour were read.")
            } else {
                format!("The {inspected} with most checks in the last hour were read. Others can be near a limit too.")
            }
        })
    };
    view! {
        <Show when=move || none.get()>
            <Empty title="No subject has used so much of a limit">
                <p>"A subject appears here if it had checks in the last hour."</p>
            </Empty>
        </Show>
        <Show when=move || !none.get()>
            <ObjectTable label="Near limit" columns=&["Subject", "Limit"]>
                <For each=move || found.get().data key=shown let:near>
                    <Row near names_rules actions />
                </For>
            </ObjectTable>
        </Show>
        <p class="note">{known}</p>
    }
}

/// The content of a row, which is drawn again when it changes.
fn shown(near: &NearLimit) -> String {
    let NearLimit { rule_id, subject, limit, .. } = near;
    format!("{rule_id} {subject:?} {:?} {} {}", limit.remaining, limit.limit, limit.allowed)
}

#[component]
fn Row(near: NearLimit, names_rules: bool, actions: SubjectActions) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let NearLimit { rule_id, rule, namespace, subject, limit, .. } = near;
    let page = format!("rules/{rule_id}");
    let target = RuleSubject { rule_id, rule: rule.clone(), subject };
    let rule = names_rules.then(|| {
        view! {
            <div class="muted">
                <A href=move || tenant.page(&page)>{rule}</A>" in "<bdi>{namespace}</bdi>
            </div>
        }
    });
    view! {
        <tr>
            <td class="text-cell">{subject_link(&target.subject)}{rule}</td>
            <td><ul class="meters">{meter(&limit)}</ul></td>
            <td class="menu-cell"><SubjectMenu target actions /></td>
        </tr>
    }
}
