//! The input of the override form.

use std::collections::BTreeMap;

use leptos::prelude::*;
use weir_wire::limits::LimitBody;
use weir_wire::overrides::{OverrideAnswer, OverrideBody};
use weir_wire::rules::RuleAnswer;
use weir_wire::time::DateTime;

use crate::browser;
use crate::components::rule_form::EffectInput;
use crate::model::expiry::Expiry;

/// A value for each attribute that a rule counts by.
pub(in super::super) type Subject = RwSignal<Vec<(String, RwSignal<String>)>>;

/// The input; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub rule: RwSignal<String>,
    pub subject: Subject,
    pub effect: EffectInput,
    pub expiry: RwSignal<Expiry>,
    pub day: RwSignal<String>,
    /// The time from which it applies, as the API writes it; empty for at once.
    pub start: RwSignal<String>,
    /// The stored expiry.
    pub end_before: RwSignal<Option<DateTime>>,
    pub reason: RwSignal<String>,
    /// The limits of the rule, which an override with limits has to differ from.
    rule_limits: RwSignal<Vec<LimitBody>>,
    /// Whether the stored override has these empty values and these limits, so that they are no mistake.
    stored: RwSignal<Option<OverrideBody>>,
    /// Whether saving was attempted; from then on all problems are visible.
    tried: RwSignal<bool>,
}

impl Form {
    /// The input for an existing override, or for a new one.
    pub fn of(before: Option<&OverrideAnswer>, rule: &RuleAnswer) -> Self {
        let form = Self {
            rule: RwSignal::new(rule.id.clone()),
            subject: RwSignal::new(fields_of(rule)),
            effect: EffectInput::of_rule(&rule.rule),
            expiry: RwSignal::new(Expiry::Never),
            day: RwSignal::new(String::new()),
            start: RwSignal::new(String::new()),
            end_before: RwSignal::new(None),
            reason: RwSignal::new(String::new()),
            rule_limits: RwSignal::new(rule.rule.limits.clone()),
            stored: RwSignal::new(None),
            tried: RwSignal::new(false),
        };
        if let Some(before) = before {
            form.fill(&before.body, rule);
        }
        form
    }

    /// Copies the values of an override.
    pub fn fill(self, body: &OverrideBody, rule: &RuleAnswer) {
        self.effect.fill(&rule.rule, body.limits.as_deref(), body.action);
        self.subject.with_untracked(|fields| {
            for (name, value) in fields {
                value.set(body.subject.get(name).cloned().unwrap_or_default());
            }
        });
        self.start.set(body.starts_at.map(DateTime::text).unwrap_or_default());
        self.end_before.set(body.expires_at);
        self.expiry.set(body.expires_at.map_or(Expiry::Never, Expiry::AsItIs));
        self.reason.set(body.reason.clone().unwrap_or_default());
        self.rule_limits.set(rule.rule.limits.clone());
        self.stored.set(Some(body.clone()));
        self.tried.set(false);
    }

    /// Chooses another rule, whose limits and attributes replace the entered ones.
    pub fn choose(self, rule: &RuleAnswer) {
        self.subject.set(fields_of(rule));
        self.effect.choose(&rule.rule);
        self.rule_limits.set(rule.rule.limits.clone());
        self.rule.set(rule.id.clone());
    }

    /// The override; tracked. `None` while its expiry or its limits are invalid.
    pub fn body(self) -> Option<OverrideBody> {
        let (limits, action) = self.effect.body()?;
        let reason = self.reason.get();
        Some(OverrideBody {
            rule_id: self.rule.get(),
            subject: typed(self.subject),
            limits,
            action,
            starts_at: self.start().ok()?,
            expires_at: self.end().ok()?,
            reason: (!reason.trim().is_empty()).then_some(reason),
        })
    }

    /// The override to send; `None` if it has problems, which become visible.
    pub fn submit(self) -> Option<OverrideBody> {
        self.tried.set(true);
        self.effect.editor.submit();
        let body = untrack(|| self.body().filter(|_| self.subject_problem().is_none()))
            .filter(|_| untrack(|| self.effect_problem()).is_none());
        if body.is_none() {
            browser::focus_first_invalid();
        }
        body
    }

    /// The problem of the chosen expiry. An empty day is a problem only after saving was attempted.
    pub fn end_problem(self) -> Option<String> {
        let unsaid = self.expiry.get() == Expiry::On && self.day.with(String::is_empty);
        let wrong = self.end().err()?;
        (!unsaid || self.tried.get()).then(|| wrong.to_owned())
    }

    /// The problem of an empty subject value, once saving was attempted.
    pub fn subject_problem(self) -> Option<String> {
        let stored = self.stored.with(|stored| stored.as_ref().map(|body| body.subject.clone()));
        let typed = typed(self.subject);
        let empty = typed.values().any(String::is_empty) && stored.as_ref() != Some(&typed);
        (empty && self.tried.get()).then(|| "Enter a value, or * for any value.".to_owned())
    }

    /// The problem of limits that are those of the rule, once saving was attempted.
    pub fn effect_problem(self) -> Option<String> {
        let limits = self.body()?.limits?;
        let stored =
            self.stored.with(|stored| stored.as_ref().and_then(|body| body.limits.clone()));
        let same = self.rule_limits.with(|of_rule| *of_rule == limits) && stored != Some(limits);
        (same && self.tried.get()).then(|| {
            "These are the limits of the rule. Change one, or choose another effect.".to_owned()
        })
    }

    /// The problem of the start.
    pub fn start_problem(self) -> Option<String> {
        self.start().err().map(str::to_owned)
    }

    fn start(self) -> Result<Option<DateTime>, &'static str> {
        self.start.with(|text| match text.trim() {
            "" => Ok(None),
            text => serde_json::from_value(text.into()).map(Some).map_err(|_| NO_TIME),
        })
    }

    fn end(self) -> Result<Option<DateTime>, &'static str> {
        let day_end_ms = self.day.with(|day| browser::day_end_ms(day));
        self.expiry.get().at(browser::now_ms(), day_end_ms)
    }
}

const NO_TIME: &str = "must be a time such as 2027-01-31T08:00:00Z";

/// Empty fields for the subject of a rule.
pub(in super::super) fn fields_of(rule: &RuleAnswer) -> Vec<(String, RwSignal<String>)> {
    let counted = rule.rule.count_by.iter();
    counted.map(|one| (one.attribute().to_owned(), RwSignal::new(String::new()))).collect()
}

/// The values of the subject fields; tracked.
pub(in super::super) fn typed(subject: Subject) -> BTreeMap<String, String> {
    let value = |(name, value): &(String, RwSignal<String>)| (name.clone(), value.get());
    subject.with(|fields| fields.iter().map(value).collect())
}
