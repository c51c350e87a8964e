//! One rule: its text, traffic, denials and revisions.

mod definition;
mod revisions;
mod segments;

use std::collections::BTreeSet;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::components::A;
use leptos_router::hooks::{use_navigate, use_params_map};
use weir_wire::rules::RuleAnswer;
use weir_wire::tenants::Role;
use weir_wire::words::Action;

use crate::api::{Api, OverrideSearch, Problem};
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::{Skeleton, SubmitProblem, remark};
use crate::components::icon::Icon;
use crate::components::menu::{Menu, MenuItem};
use crate::components::owner::files_mark;
use crate::components::page::PageHeader;
use crate::components::region::{KnownRegions, OfRegion, RegionPicker, region_in_url};
use crate::components::remote_data::{RemoteData, fetch_data, show_latest_shaped, show_shaped};
use crate::components::require_role::{RequireRole, RoleLink};
use crate::components::tabs::{Tabs, tab_in_url};
use crate::components::time::RelativeTime;
use crate::components::time_range::{TimeRangePicker, time_in_url};
use crate::model::labels;
use crate::model::number::quantity;
use crate::model::owners;
use crate::model::request_link::{request_link, sample_request};
use crate::model::segments::has_segments;
use crate::pages::published::UndoneChanges;
use crate::pages::rollout::RolloutStatus;
use crate::pages::rules::{ModeDialog, ModeSwitch, RuleState, last_hour};
use crate::pages::shell::TenantId;
use crate::pages::subjects::NearLimits;
use crate::pages::traffic::{
    LatestDenials, TopSubjects, Totals, Traffic, TrafficChart, TrafficFilter,
};
use definition::Definition;
use revisions::Revisions;
use segments::Segments;

/// The tabs, in their order.
const TABS: [&str; 4] = ["Traffic", "Near limit", "Definition", "History"];

#[component]
pub fn RulePage() -> impl IntoView {
    let (tenant, rule) = (expect_context::<TenantId>(), rule_of_address());
    let title = move || rule.data().map_or_else(|| "Rule".to_owned(), |rule| rule.rule.name);
    let (state, known) = mode_state(rule);
    let chosen = tab_in_url(&TABS);
    view! {
        <p class="muted">
            <A href=move || tenant.page("rules")>"Rules"</A>
            {move || known.get().map(|RuleAnswer { rule, .. }| {
                let page = format!("rules?namespace={}", rule.namespace);
                view! { " / "<A href=move || tenant.page(&page)>{rule.namespace.clone()}</A> }
            })}
        </p>
        <PageHeader title=Signal::derive(title)>
            {move || known.get().map(|rule| view! { <ModeSwitch rule state /> })}
        </PageHeader>
        <ModeDialog state />
        {show_shaped(rule, Skeleton::Rule, move |data| {
            let shown = StoredValue::new(data.clone());
            let panel = Callback::new(move |tab| {
                let data = shown.get_value();
                match tab {
                    0 => view! { <RuleTraffic rule=data /> }.into_any(),
                    1 => view! { <NearLimits rule=data.id /> }.into_any(),
                    2 => view! { <Definition rule=data /> }.into_any(),
                    _ => view! { <Revisions now=data rule /> }.into_any(),
                }
            });
            view! {
                <Summary rule=data.clone() />
                <div class="with-aside">
                    <div class="stack"><Tabs label="Rule" names=TABS.to_vec() chosen panel /></div>
                    <Facts rule=data />
                </div>
            }
        })}
    }
}

/// The state of the switch that changes the mode, and the rule that it is about. After a change the rule is fetched again.
fn mode_state(rule: RemoteData<RuleAnswer>) -> (RuleState, Memo<Option<RuleAnswer>>) {
    let state = RuleState::new(RwSignal::default(), last_hour());
    let known = rule.latest(Some);
    Effect::new(move |_| state.rules.set(known.get().into_iter().collect()));
    Effect::new(move |_| {
        let changed = state.rules.with(|rules| rules.first().map(|rule| rule.revision));
        if changed > known.with_untracked(|rule| rule.as_ref().map(|rule| rule.revision)) {
            rule.refetch();
        }
    });
    (state, known)
}

/// The rule in the URL.
pub(super) fn rule_of_address() -> RemoteData<RuleAnswer> {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let params = use_params_map();
    let id = Memo::new(move |_| params.with(|params| params.get("rule")).unwrap_or_default());
    let undone = expect_context::<UndoneChanges>();
    fetch_data(move || {
        undone.track();
        let (tenant, id) = (tenant.get(), id.get());
        api.rule(&tenant, &id)
    })
}

/// The rule as a sentence, and what one can do with it.
#[component]
fn Summary(rule: RuleAnswer) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let body = rule.rule.clone();
    let (regions, counted) = (expect_context::<KnownRegions>().0, body.clone());
    let worldwide = move || labels::worldwide(&counted, regions.with(BTreeSet::len));
    let edit = format!("rules/{}/edit", rule.id);
    let what_if = format!("what-if?rule={}", rule.id);
    let test = request_link(Some(&body.namespace), &sample_request(&body), 1);
    let warnings: Vec<_> =
        rule.warnings.clone().into_iter().map(|warning| remark(&warning)).collect();
    let description = (!body.description.is_empty())
        .then(|| view! { <p class="prose">{body.description.clone()}</p> });
    view! {
        <p class="sentence">{labels::sentence(&body)}{worldwide}</p>
        {description}
        {warnings}
        <div class="actions">
            <RoleLink role=Role::Editor href=Signal::derive(move || tenant.page(&edit)) text="Edit rule" primary=true />
            <A href=move || tenant.page(&test) attr:class="button">"Simulate"</A>
            <A href=move || tenant.page(&what_if) attr:class="button">"Replay"</A>
            <RequireRole role=Role::Editor reason_shown=true><Delete rule /></RequireRole>
        </div>
    }
}

/// Facts that stay visible beside the tabs.
#[component]
fn Facts(rule: RuleAnswer) -> impl IntoView {
    let body = rule.rule;
    let limited = body.action == Action::Limit;
    let files = files_mark(rule.managed_by.as_ref(), rule.edited);
    view! {
        <dl class="facts card aside">
            <dt>"Namespace"</dt><dd><code>{body.namespace}</code></dd>
            {limited.then(|| view! { <dt>"If Redis is unavailable"</dt><dd>{body.on_store_failure.title()}</dd> })}
            <dt>"Revision"</dt><dd>{rule.revision}", live since rulebook version "{rule.rulebook_version}</dd>
            <RolloutStatus version=rule.rulebook_version />
            {files.map(|files| view! { <dt>"Files"</dt><dd>{files}</dd> })}
            <dt>"Overrides"</dt><dd><OverridesOf id=rule.id.clone() /></dd>
            <dt>"Changed"</dt><dd><RelativeTime at=rule.updated_at /></dd>
            <dt>"Created"</dt><dd><RelativeTime at=rule.created_at /></dd>
            <dt>"ID"</dt><dd><code>{rule.id}</code></dd>
        </dl>
    }
}

/// The number of the rule's overrides, with a link to them.
#[component]
fn OverridesOf(id: String) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let page = format!("overrides?rule={id}");
    let first = fetch_data(move || {
        let (tenant, rule_id) = (tenant.get(), id.clone());
        let search = OverrideSearch { rule_id, ..OverrideSearch::default() };
        api.overrides(&tenant, &search, None)
    });
    let count = move || match first.data() {
        None => "Show".to_owned(),
        Some(page) if page.next_cursor.is_some() => format!("more than {}", page.data.len()),
        Some(page) => quantity(page.data.len(), "override", "overrides"),
    };
    view! { <A href=move || tenant.page(&page)>{count}</A> }
}

/// The decisions of the rule.
#[component]
fn RuleTraffic(rule: RuleAnswer) -> impl IntoView {
    let (time, region) = (time_in_url(), region_in_url());
    let known = expect_context::<KnownRegions>().0;
    let (tenant, namespace) = (expect_context::<TenantId>(), Signal::stored(String::new()));
    let filter = TrafficFilter { tenant, namespace, region: region.value, time };
    let traffic = Traffic::fetch(Some(rule.id.clone()), filter);
    let segments =
        has_segments(&rule.rule).then(|| view! { <Segments rule=rule.clone() filter /> });
    view! {
        <section class="stack" aria-labelledby="traffic-heading">
            <div class="page-head">
                <h2 id="traffic-heading">"Decisions"</h2>
                <div class="actions">
                    <RegionPicker region known />
                    <TimeRangePicker time />
                </div>
            </div>
            <OfRegion region=region.value />
            {show_latest_shaped(traffic.summary, Skeleton::Tiles, move |summary| view! { <Totals summary earlier=traffic.earlier(time) comparison=Signal::derive(move || time.value.get().comparison) first_check_ms=traffic.first_check_ms(time) /> })}
            <TrafficChart traffic time />
            {segments}
            <TopSubjects traffic />
            <LatestDenials traffic />
        </section>
    }
}

#[component]
fn Delete(rule: RuleAnswer) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (open, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    let navigate = use_navigate();
    let name = rule.rule.name.clone();
    let owner = owners::sentence("rule", "rules", std::slice::from_ref(&rule.managed_by))
        .unwrap_or_default();
    let consequence = format!(
        "{name} stops limiting immediately on all gates. Its overrides are deleted too. {owner}"
    );
    let delete = Callback::new(move |()| {
        let (rule, navigate) = (rule.clone(), navigate.clone());
        spawn_local(async move {
            let id = tenant.now();
            match api.delete_rule(&id, &rule).await {
                Ok(()) => navigate(&format!("/t/{id}/rules"), NavigateOptions::default()),
                Err(rejected) => drop(problem.try_set(Some(rejected))),
            }
        });
    });
    view! {
        <Menu label="More actions" trigger=view! { <Icon name="ellipsis" /> }.into_any()>
            <MenuItem icon="trash-2" text="Delete rule" danger=true on_press=move |()| open.set(true) />
        </Menu>
        <SubmitProblem problem />
        <ConfirmByName title="Delete this rule?" consequence name action="Delete rule" open on_confirm=delete />
    }
}
