//! The decisions of a rule by variant, by share of subjects and by class, and the buttons that end an experiment or widen a share.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::stats::{RuleSegments, SegmentCounts, SegmentKind};
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::feedback::Skeleton;
use crate::components::guide_link::GuideLink;
use crate::components::remote_data::{fetch_data, show_latest_shaped};
use crate::components::require_role::RequireRole;
use crate::components::rule_form::DraftTransfer;
use crate::components::time::ExactTime;
use crate::model::number::{grouped, share};
use crate::model::segments;
use crate::pages::shell::TenantId;
use crate::pages::traffic::{TrafficFilter, refresh};

/// The segments of the selected time.
#[component]
pub(super) fn Segments(rule: RuleAnswer, filter: TrafficFilter) -> impl IntoView {
    let api = expect_context::<Api>();
    let rule = StoredValue::new(rule);
    let fetched = fetch_data(move || {
        api.rule_segments(&filter.scope(None), &rule.with_value(|rule| rule.id.clone()))
    });
    refresh(filter.time, move || fetched.poll());
    view! {
        <section class="card stack" aria-labelledby="segments-heading">
            <h2 id="segments-heading">{rule.with_value(|rule| heading(&rule.rule))}</h2>
            {show_latest_shaped(fetched, Skeleton::Table, move |found| {
                move || found.with(|found| table(found, rule))
            })}
            <Shares rule />
            <p class="note"><GuideLink page="rules" text="About experiments, shares of subjects and priority" /></p>
        </section>
    }
}

fn heading(rule: &RuleBody) -> &'static str {
    if !rule.variants.is_empty() {
        "Experiment"
    } else if rule.enforce_percent.is_some() {
        "Share of subjects"
    } else {
        "Classes"
    }
}

fn table(found: &RuleSegments, rule: StoredValue<RuleAnswer>) -> AnyView {
    let has_shadow = found.data.iter().any(|segment| segment.counts.shadow_denied > 0);
    let rows: Vec<_> = found.data.iter().map(|segment| row(segment, has_shadow, rule)).collect();
    let first = found.data.iter().find(|segment| segment.kind == SegmentKind::Variant);
    let first = first.and_then(|segment| segment.name.clone()).unwrap_or_default();
    let compared = found.data.iter().filter_map(|segment| {
        let text = segments::compared(segment.name.as_deref()?, &first, segment.compared?);
        Some(view! { <p role="status">{text}</p> })
    });
    let compared: Vec<_> = compared.collect();
    let has_subjects = found.data.iter().any(|segment| segment.subjects_denied.is_some());
    let at_least = if found.subjects_complete {
        "."
    } else {
        "; of very many denials it has a sample, so there can be more."
    };
    let subjects = has_subjects.then(|| {
        view! { <p class="note">"Denied subjects are those in the log of denials since "<ExactTime at=found.subjects_from />{at_least}</p> }
    });
    let method = (!compared.is_empty()).then(|| {
        view! { <details><summary class="note">"Accuracy"</summary><p class="note">{found.method.clone()}"."</p></details> }
    });
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label="Decisions by segment">
            <table>
                <thead><tr>
                    <th scope="col">"Segment"</th>
                    <th scope="col" class="number">"Of subjects"</th>
                    <th scope="col" class="number">"Checks"</th>
                    <th scope="col" class="number">"Denied"</th>
                    {has_shadow.then(|| view! { <th scope="col" class="number">"Would deny"</th> })}
                    <th scope="col" class="number">"Share"</th>
                    <th scope="col" class="number">"Denied subjects"</th>
                    <th scope="col"><span class="hidden">"Actions"</span></th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        {compared}
        {subjects}
        {method}
    }
    .into_any()
}

fn row(segment: &SegmentCounts, has_shadow: bool, rule: StoredValue<RuleAnswer>) -> AnyView {
    let (allowed, denied) = segments::decided(segment);
    let percent = segment.percent.map_or_else(|| "–".to_owned(), |percent| format!("{percent} %"));
    let variant = segment.name.clone().filter(|_| segment.kind == SegmentKind::Variant);
    let adopt = variant.map(|name| {
        let body = rule.with_value(|rule| segments::adopted(&rule.rule, &name));
        let text = format!("Use {name} for all");
        view! { <EditAs rule body text /> }
    });
    view! {
        <tr>
            <th scope="row">{segments::title(segment)}</th>
            <td class="number">{percent}</td>
            <td class="number">{grouped(allowed + denied)}</td>
            <td class="number">{grouped(segment.counts.denied)}</td>
            {has_shadow.then(|| view! { <td class="number">{grouped(segment.counts.shadow_denied)}</td> })}
            <td class="number">{share(denied, allowed + denied)}</td>
            <td class="number">{segments::subjects(segment)}</td>
            <td class="nowrap">{adopt}</td>
        </tr>
    }
    .into_any()
}

/// The buttons that enforce the rule for more or fewer subjects.
#[component]
fn Shares(rule: StoredValue<RuleAnswer>) -> impl IntoView {
    let now = rule.with_value(|rule| rule.rule.enforce_percent);
    now.map(|now| {
        let others = segments::SHARES.into_iter().filter(|percent| *percent != now);
        let buttons = others.map(|percent| {
            let body = rule.with_value(|rule| segments::enforced_for(&rule.rule, percent));
            let text = format!("Enforce for {percent} %");
            view! { <EditAs rule body=Some(body) text /> }
        });
        view! { <div class="actions">{buttons.collect::<Vec<_>>()}</div> }
    })
}

/// A button that opens the editor with a changed rule, for review.
#[component]
fn EditAs(rule: StoredValue<RuleAnswer>, body: Option<RuleBody>, text: String) -> impl IntoView {
    let (tenant, draft) = (expect_context::<TenantId>(), expect_context::<DraftTransfer>());
    let navigate = use_navigate();
    let open = move |_| {
        let Some(body) = body.clone() else { return };
        let id = rule.with_value(|rule| rule.id.clone());
        let page = format!("/t/{}/rules/{id}/edit", tenant.now());
        draft.put(Some(id), body);
        navigate(&page, NavigateOptions::default());
    };
    view! {
        <RequireRole role=Role::Editor>
            <button type="button" class="button small" on:click=open>{text}</button>
        </RequireRole>
    }
}
