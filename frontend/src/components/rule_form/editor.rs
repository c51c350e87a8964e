//! The state of the editor: the input, its problems, and which of them are visible.

use std::collections::BTreeSet;

use leptos::prelude::*;
use weir_wire::problem::FieldProblem;
use weir_wire::rules::RuleBody;

use crate::components::field::Binding;
use crate::model::rule_form::{ConditionRow, LimitRow, RuleForm};

/// The editor's state; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Editor {
    pub form: RwSignal<RuleForm>,
    read: Memo<(RuleBody, Vec<FieldProblem>)>,
    /// The server's problems with the rule as it was sent; cleared by the next change.
    rejected: RwSignal<Vec<FieldProblem>>,
    /// The fields that have been edited.
    touched: RwSignal<BTreeSet<String>>,
    /// Whether saving was attempted; from then on all problems are visible.
    tried: RwSignal<bool>,
}

impl Editor {
    pub fn new(form: RuleForm) -> Self {
        let form = RwSignal::new(form);
        Self {
            form,
            read: Memo::new(move |_| form.with(RuleForm::read)),
            rejected: RwSignal::new(Vec::new()),
            touched: RwSignal::new(BTreeSet::new()),
            tried: RwSignal::new(false),
        }
    }

    /// The rule and its problems; tracked.
    pub fn rule(self) -> RuleBody {
        self.read.with(|(rule, _)| rule.clone())
    }

    /// The rule to send; `None` if it has problems, which become visible.
    pub fn submit(self) -> Option<RuleBody> {
        self.tried.set(true);
        self.read.with_untracked(|(rule, wrong)| wrong.is_empty().then(|| rule.clone()))
    }

    /// The rule if it is valid; tracked.
    pub fn right(self) -> Option<RuleBody> {
        self.read.with(|(rule, wrong)| wrong.is_empty().then(|| rule.clone()))
    }

    /// The number of visible problems.
    pub fn shown_problems(self) -> usize {
        if self.tried.get() { self.read.with(|(_, wrong)| wrong.len()) } else { 0 }
    }

    /// Shows the server's problems.
    pub fn refuse(self, fields: Vec<FieldProblem>) {
        self.rejected.set(fields);
    }

    /// Replaces the form with another rule.
    pub fn reset(self, form: RuleForm) {
        self.form.set(form);
        self.rejected.set(Vec::new());
        self.touched.set(BTreeSet::new());
        self.tried.set(false);
    }

    /// Binds a field of the form, with its path in the rule.
    pub fn bind<T>(
        self,
        path: impl Fn(&RuleForm) -> String + Send + Sync + 'static,
        value: impl Fn(&RuleForm) -> T + Send + Sync + 'static,
        set: impl Fn(&mut RuleForm, T) + Send + Sync + 'static,
    ) -> Binding<T>
    where
        T: Clone + PartialEq + Send + Sync + 'static,
    {
        let set = move |value| {
            self.form.update(|form| set(form, value));
            let path = self.form.with_untracked(|form| path(form));
            self.touched.update(|touched| {
                touched.insert(path);
            });
            self.rejected.update(Vec::clear);
        };
        Binding {
            value: Memo::new(move |_| self.form.with(|form| value(form))).into(),
            set: Callback::new(set),
        }
    }

    /// The visible problem of a field.
    pub fn problem(
        self,
        path: impl Fn(&RuleForm) -> String + Send + Sync + 'static,
    ) -> Signal<Option<String>> {
        Signal::derive(move || {
            let path = self.form.with(|form| path(form));
            let below = |problem: &&FieldProblem| {
                problem.field == path
                    || path == "count_by" && problem.field.starts_with("count_by[")
            };
            let reason = |problem: &FieldProblem| problem.reason.clone();
            let rejected = self.rejected.with(|rejected| rejected.iter().find(below).map(reason));
            let shown = self.tried.get() || self.touched.with(|touched| touched.contains(&path));
            let wrong = || self.read.with(|(_, wrong)| wrong.iter().find(below).map(reason));
            rejected.or_else(|| if shown { wrong() } else { None })
        })
    }

    /// Binds a field of a limit; does nothing once the limit has been removed.
    pub fn limit<T: Clone + PartialEq + Default + Send + Sync + 'static>(
        self,
        row: u32,
        name: fn(&LimitRow) -> &'static str,
        value: impl Fn(&LimitRow) -> T + Send + Sync + 'static,
        set: impl Fn(&mut LimitRow, T) + Send + Sync + 'static,
    ) -> Binding<T> {
        self.bind(
            move |form| limit_path(form, row, name),
            move |form| {
                form.limits.iter().find(|limit| limit.row == row).map(&value).unwrap_or_default()
            },
            move |form, new| {
                if let Some(limit) = form.limits.iter_mut().find(|limit| limit.row == row) {
                    set(limit, new);
                }
            },
        )
    }

    /// The visible problem of a field of a limit.
    pub fn limit_problem(
        self,
        row: u32,
        name: fn(&LimitRow) -> &'static str,
    ) -> Signal<Option<String>> {
        self.problem(move |form| limit_path(form, row, name))
    }

    /// Binds a field of a condition.
    pub fn condition<T: Clone + PartialEq + Send + Sync + 'static>(
        self,
        row: u32,
        name: &'static str,
        value: impl Fn(Option<&ConditionRow>) -> T + Send + Sync + 'static,
        set: impl Fn(&mut ConditionRow, T) + Send + Sync + 'static,
    ) -> Binding<T> {
        self.bind(
            move |form| condition_path(form, row, name),
            move |form| value(form.conditions.iter().find(|condition| condition.row == row)),
            move |form, new| {
                if let Some(condition) =
                    form.conditions.iter_mut().find(|condition| condition.row == row)
                {
                    set(condition, new);
                }
            },
        )
    }

    /// The visible problem of a field of a condition.
    pub fn condition_problem(self, row: u32, name: &'static str) -> Signal<Option<String>> {
        self.problem(move |form| condition_path(form, row, name))
    }
}

fn limit_path(form: &RuleForm, row: u32, name: fn(&LimitRow) -> &'static str) -> String {
    form.limit_at(row).map(|(path, limit)| format!("{path}.{}", name(limit))).unwrap_or_default()
}

fn condition_path(form: &RuleForm, row: u32, name: &str) -> String {
    let at = form.conditions.iter().position(|condition| condition.row == row);
    let at = at.map(|at| format!("match[{at}]")).unwrap_or_default();
    if name.is_empty() { at } else { format!("{at}.{name}") }
}
