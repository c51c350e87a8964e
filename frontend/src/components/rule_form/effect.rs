//! The effect of an override or a plan on a rule: limits in place of the rule's, or an action.

use leptos::prelude::*;
use weir_wire::limits::LimitBody;
use weir_wire::rules::RuleBody;
use weir_wire::words::Action;

use super::editor::Editor;
use super::limits::Limits;
use crate::components::control_flow::Show;
use crate::components::field::Choice;
use crate::model::rule_form::RuleForm;

/// The kind of effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Limits,
    Allow,
    Deny,
}

/// The input of an effect; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct EffectInput {
    pub kind: RwSignal<Effect>,
    /// The limits, in the form of the rule.
    pub editor: Editor,
}

/// The fields `limits` and `action` of an effect in the API.
pub type EffectBody = (Option<Vec<LimitBody>>, Option<Action>);

impl EffectInput {
    /// The limits of the rule itself.
    pub fn of_rule(rule: &RuleBody) -> Self {
        let kind = RwSignal::new(Effect::Limits);
        Self { kind, editor: Editor::new(form(rule, None)) }
    }

    /// Replaces the limits with those of another rule.
    pub fn choose(self, rule: &RuleBody) {
        self.editor.reset(form(rule, None));
    }

    /// Replaces the input with an effect on a rule.
    pub fn fill(self, rule: &RuleBody, limits: Option<&[LimitBody]>, action: Option<Action>) {
        self.editor.reset(form(rule, limits));
        self.kind.set(match (limits, action) {
            (None, Some(Action::Deny)) => Effect::Deny,
            (None, _) => Effect::Allow,
            _ => Effect::Limits,
        });
    }

    /// The effect; tracked. `None` while the limits are invalid.
    pub fn body(self) -> Option<EffectBody> {
        Some(match self.kind.get() {
            Effect::Limits => (Some(self.editor.right()?.limits), None),
            Effect::Allow => (None, Some(Action::Allow)),
            Effect::Deny => (None, Some(Action::Deny)),
        })
    }
}

/// The rule with limits for everyone: an effect has no variants.
fn form(rule: &RuleBody, limits: Option<&[LimitBody]>) -> RuleForm {
    let mut shape = rule.clone();
    shape.variants.clear();
    if let Some(limits) = limits {
        limits.clone_into(&mut shape.limits);
    }
    RuleForm::of(&shape)
}

#[component]
pub fn EffectFields(
    input: EffectInput,
    #[prop(optional, into)] problem: Signal<Option<String>>,
) -> impl IntoView {
    let options = vec![
        (Effect::Limits, "Custom limits".to_owned()),
        (Effect::Allow, "Allow".to_owned()),
        (Effect::Deny, "Deny".to_owned()),
    ];
    view! {
        <Choice label="Effect" value=input.kind.into() options problem />
        <Show when=move || input.kind.get() == Effect::Limits><Limits editor=input.editor plain=true /></Show>
    }
}
