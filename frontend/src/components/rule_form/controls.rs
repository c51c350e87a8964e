//! The controls that few rules have: more blocks, priority, a share of subjects, a schedule.

use leptos::prelude::*;

use super::editor::Editor;
use super::week::Week;
use crate::components::field::{Binding, TextArea, TextField};
use crate::components::guide_link::GuideLink;
use crate::model::rule_form::ControlsForm;

/// The controls, closed unless the rule uses one.
#[component]
pub(super) fn ControlFields(editor: Editor) -> impl IntoView {
    let at = |name: &'static str| move |_: &_| name.to_owned();
    let text =
        |path: &'static str, field: fn(&mut ControlsForm) -> &mut String| -> Binding<String> {
            editor.bind(
                at(path),
                move |form| field(&mut form.controls.clone()).clone(),
                move |form, value| *field(&mut form.controls) = value,
            )
        };
    let is_open = editor.form.with_untracked(|form| form.controls.is_used());
    view! {
        <fieldset>
        <details open=is_open>
            <summary>"Rollout, priority and schedule"</summary>
            <div class="stack">
            <p class="note"><GuideLink page="rules" text="What these controls do" /></p>
            <TextField
                label="Enforce for, in % of subjects"
                value=text("enforce_percent", |form| &mut form.enforce_percent)
                problem=editor.problem(at("enforce_percent"))
                hint="Empty: for all. For the other subjects the rule only counts, as in shadow"
                short=true
            />
            <div class="row">
                <TextField
                    label="Class attribute"
                    value=text("priority.attribute", |form| &mut form.class_attribute)
                    problem=editor.problem(at("priority.attribute"))
                    hint="For example priority"
                />
                <TextArea
                    label="Share that each class leaves free, in %"
                    value=text("priority.keep", |form| &mut form.classes)
                    problem=editor.problem(at("priority.keep"))
                    hint="One class in each line, such as batch 50. Other classes leave nothing"
                />
            </div>
            <div class="row">
                <TextField
                    label="Further blocks"
                    value=text("more_blocks", |form| &mut form.more_blocks)
                    problem=editor.problem(at("more_blocks"))
                    hint="Such as 10 min, 1 d; the last one repeats"
                />
                <TextField
                    label="If within"
                    value=text("block_memory_ms", |form| &mut form.block_memory)
                    problem=editor.problem(at("block_memory_ms"))
                    hint="After the end of the last block, such as 7 d"
                />
            </div>
            <div class="row">
                <TextArea
                    label="Hours of the week"
                    value=text("active.weekly", |form| &mut form.weekly)
                    problem=editor.problem(at("active.weekly[0]"))
                    hint="Such as Mon-Fri 08:00-18:00. Empty: at all hours"
                />
                <TextField
                    label="Time zone"
                    value=text("active.zone", |form| &mut form.zone)
                    problem=editor.problem(at("active.zone"))
                    hint="For example Europe/Berlin"
                />
            </div>
            <Week editor />
            <div class="row">
                <TextField
                    label="From"
                    value=text("active.from", |form| &mut form.from)
                    problem=editor.problem(at("active.from"))
                    hint="Such as 2027-01-31T08:00:00Z"
                />
                <TextField
                    label="Until"
                    value=text("active.until", |form| &mut form.until)
                    problem=editor.problem(at("active.until"))
                    hint="The rule no longer applies from then on"
                />
            </div>
            </div>
        </details>
        </fieldset>
    }
}
