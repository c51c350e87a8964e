//! The input of the rule editor, and its conversion to a rule.
//!
//! A number that cannot be parsed is a problem of its field. Everything else is validated by the rule's own parsing,
//! which the server also uses, so the messages are the same.

mod controls;
mod limit_row;
mod variants;

use serde::{Deserialize, Serialize};
use weir_domain::draft;
use weir_domain::rule::Rule;
use weir_wire::counted::{CountedBody, CountedInForm, FormName};
use weir_wire::limits::LimitBody;
use weir_wire::problem::FieldProblem;
use weir_wire::rules::{BlockBody, ConditionBody, OperandBody, RuleBody};
use weir_wire::words::{Action, Consistency, Mode, OnStoreFailure, Op, Over, Reach};

use crate::model::duration::{DurationInput, Unit};
pub use controls::ControlsForm;
pub use limit_row::LimitRow;
pub use variants::VariantRow;

/// The input of the rule editor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleForm {
    pub namespace: String,
    pub name: String,
    pub description: String,
    pub conditions: Vec<ConditionRow>,
    /// Attributes, separated by commas or spaces.
    pub count_by: String,
    pub action: Action,
    pub mode: Mode,
    pub limits: Vec<LimitRow>,
    pub blocks: bool,
    pub block: DurationInput,
    pub on_store_failure: OnStoreFailure,
    pub consistency: Consistency,
    #[serde(default = "each_region")]
    pub reach: Reach,
    pub over: Over,
    #[serde(default)]
    pub controls: ControlsForm,
    /// The variants of an experiment; with none, the limits are those of all subjects.
    #[serde(default)]
    pub variants: Vec<VariantRow>,
    next_row: u32,
}

/// The input of a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionRow {
    /// Identifies the row on the page, independent of its position.
    pub row: u32,
    pub attribute: String,
    pub op: Op,
    /// The value; of operators with lists, one per line.
    pub value: String,
}

fn each_region() -> Reach {
    Reach::Region
}

impl RuleForm {
    /// A new rule with one empty limit.
    pub fn new() -> Self {
        let mut form = Self {
            namespace: weir_domain::request::DEFAULT_NAMESPACE.to_owned(),
            name: String::new(),
            description: String::new(),
            conditions: Vec::new(),
            count_by: String::new(),
            action: Action::Limit,
            mode: Mode::Enforce,
            limits: Vec::new(),
            blocks: false,
            block: DurationInput { number: "5".to_owned(), unit: Unit::Minutes },
            on_store_failure: OnStoreFailure::Allow,
            consistency: Consistency::Exact,
            reach: Reach::Region,
            over: Over::Deny,
            controls: ControlsForm::default(),
            variants: Vec::new(),
            next_row: 0,
        };
        form.add_limit(0);
        form
    }

    /// The input that corresponds to an existing rule.
    pub fn of(rule: &RuleBody) -> Self {
        let mut form = Self::new();
        form.namespace.clone_from(&rule.namespace);
        form.name.clone_from(&rule.name);
        form.description.clone_from(&rule.description);
        form.count_by = rule.count_by.iter().map(counted_text).collect::<Vec<_>>().join(", ");
        form.action = rule.action;
        form.mode = rule.mode;
        form.blocks = rule.block_ms.is_some();
        if let Some([first, ..]) = rule.block_ms.as_ref().map(BlockBody::lengths_ms) {
            form.block = DurationInput::of_ms(*first);
        }
        form.controls = ControlsForm::of(rule);
        form.on_store_failure = rule.on_store_failure;
        form.consistency = rule.consistency;
        form.reach = rule.reach;
        form.over = rule.over;
        for condition in &rule.conditions {
            let row = form.row();
            form.conditions.push(ConditionRow::of(row, condition));
        }
        if !rule.limits.is_empty() || !rule.variants.is_empty() {
            form.limits.clear();
        }
        for limit in &rule.limits {
            let row = form.row();
            form.limits.push(LimitRow::of(row, limit));
        }
        form.take_variants(rule);
        form
    }

    /// Adds a condition.
    pub fn add_condition(&mut self) {
        let row = self.row();
        self.conditions.push(ConditionRow {
            row,
            attribute: String::new(),
            op: Op::Equals,
            value: String::new(),
        });
    }

    /// Adds a limit of a variant; of all subjects for 0.
    pub fn add_limit(&mut self, variant: u32) {
        let row = self.row();
        self.limits.push(LimitRow { variant, ..LimitRow::new(row) });
    }

    /// Puts a limit into a row.
    pub fn put_limit(&mut self, row: u32, limit: &LimitBody) {
        if let Some(place) = self.limits.iter_mut().find(|limit| limit.row == row) {
            let (variant, count_denied) = (place.variant, place.count_denied);
            *place = LimitRow { variant, count_denied, ..LimitRow::of(row, limit) };
        }
    }

    /// The rule to send, and all problems with it.
    pub fn read(&self) -> (RuleBody, Vec<FieldProblem>) {
        let mut wrong = Vec::new();
        let limited = self.action == Action::Limit;
        let block_ms = (limited && self.blocks).then(|| {
            self.block.ms().unwrap_or_else(|| {
                wrong.push(FieldProblem::new("block_ms", NOT_WHOLE));
                1
            })
        });
        let limits = self.limits_of(0).filter(|_| limited).enumerate();
        let limits =
            limits.map(|(at, row)| row.read(&format!("limits[{at}]"), &mut wrong)).collect();
        let variants = if limited { self.read_variants(&mut wrong) } else { Vec::new() };
        let mut body = RuleBody {
            namespace: self.namespace.trim().to_owned(),
            name: self.name.trim().to_owned(),
            description: self.description.clone(),
            conditions: self.conditions.iter().map(ConditionRow::read).collect(),
            count_by: listed(&self.count_by),
            action: self.action,
            mode: self.mode,
            limits,
            variants,
            block_ms: block_ms.map(BlockBody::One),
            on_store_failure: self.on_store_failure,
            consistency: if limited { self.consistency } else { Consistency::Exact },
            reach: if limited { self.reach } else { Reach::Region },
            over: if limited { self.over } else { Over::Deny },
            ..RuleBody::default()
        };
        if limited {
            self.controls.add_to(&mut body, &mut wrong);
        }
        for problem in body.clone().parse().err().unwrap_or_default() {
            if !wrong.iter().any(|known| known.field == problem.field) {
                wrong.push(problem);
            }
        }
        (body, wrong)
    }

    /// The warnings of a valid rule.
    pub fn warnings(&self) -> Vec<String> {
        let (body, wrong) = self.read();
        match body.parse() {
            Ok(rule) if wrong.is_empty() => weir_domain::warnings::of_rule(&rule),
            _ => Vec::new(),
        }
    }

    /// The warnings about the edit of `before` to a valid rule.
    pub fn edit_warnings(&self, before: &RuleBody) -> Vec<String> {
        let (body, wrong) = self.read();
        let (Ok(before), Ok(after), true) =
            (before.clone().parse(), body.parse(), wrong.is_empty())
        else {
            return Vec::new();
        };
        let slots = after.slots_after(&before, &before.first_slots());
        slots.map_or_else(
            |_| Vec::new(),
            |slots| weir_domain::warnings::of_edit(&before, &after.with_slots(&slots.taken)),
        )
    }

    /// `count_by` with the form `address` for the plain attributes whose known values are addresses; `None` if there is none.
    pub fn count_by_address(&self, is_address: impl Fn(&str) -> bool) -> Option<String> {
        let mut counted = listed(&self.count_by);
        let mut any = false;
        for one in &mut counted {
            if matches!(one, CountedBody::Plain(name) if is_address(name)) {
                let attribute = one.attribute().to_owned();
                *one = CountedBody::InForm(CountedInForm {
                    attribute,
                    form: FormName::Address,
                    ipv6_prefix: None,
                });
                any = true;
            }
        }
        any.then(|| counted.iter().map(counted_text).collect::<Vec<_>>().join(", "))
    }

    /// The rule to simulate, from the limits alone, with variants those of the first one: other fields can be invalid, and `count_by` makes no difference to
    /// one subject.
    pub fn for_picture(&self) -> Option<Rule> {
        let first = self.variants.first().map_or(0, |variant| variant.row);
        let limits = self.limits_of(first).map(|limit| LimitRow { variant: 0, ..limit.clone() });
        let mut bare = Self { limits: limits.collect(), ..Self::new() };
        "drawn".clone_into(&mut bare.name);
        (bare.action, bare.blocks) = (self.action, self.blocks);
        bare.block.clone_from(&self.block);
        let mut classed = bare.clone();
        classed.controls.class_attribute.clone_from(&self.controls.class_attribute);
        classed.controls.classes.clone_from(&self.controls.classes);
        let drawn = |form: Self| {
            let (body, wrong) = form.read();
            if wrong.is_empty() { body.parse().ok() } else { None }
        };
        drawn(classed).or_else(|| drawn(bare))
    }

    fn row(&mut self) -> u32 {
        self.next_row += 1;
        self.next_row
    }
}

impl ConditionRow {
    fn of(row: u32, condition: &ConditionBody) -> Self {
        let value = match &condition.value {
            Some(OperandBody::One(text)) => text.clone(),
            Some(OperandBody::Many(texts)) => texts.join("\n"),
            None => String::new(),
        };
        Self { row, attribute: condition.attribute.clone(), op: condition.op, value }
    }

    /// Whether the operator takes a value.
    pub fn takes_value(&self) -> bool {
        !matches!(self.op, Op::Exists | Op::Absent)
    }

    fn read(&self) -> ConditionBody {
        let value = match self.op {
            Op::Exists | Op::Absent => None,
            op if draft::Op::from(op).takes_list() => {
                let lines = self.value.lines().map(str::trim).filter(|line| !line.is_empty());
                let lines: Vec<_> = lines.map(str::to_owned).collect();
                let is_one = matches!(op, Op::Cidr | Op::NotCidr) && lines.len() < 2;
                Some(if is_one {
                    OperandBody::One(lines.concat())
                } else {
                    OperandBody::Many(lines)
                })
            }
            _ => Some(OperandBody::One(self.value.clone())),
        };
        ConditionBody { attribute: self.attribute.trim().to_owned(), op: self.op, value }
    }
}

/// Splits names at commas and spaces.
fn listed(text: &str) -> Vec<CountedBody> {
    let mut counted: Vec<CountedBody> = Vec::new();
    let mut words =
        text.split(|c: char| c == ',' || c.is_whitespace()).filter(|name| !name.is_empty());
    while let Some(word) = words.next() {
        let form = if word == "as" { words.next().and_then(form_of) } else { None };
        match (form, counted.last_mut()) {
            (Some((form, ipv6_prefix)), Some(last)) => {
                let attribute = last.attribute().to_owned();
                *last = CountedBody::InForm(CountedInForm { attribute, form, ipv6_prefix });
            }
            _ => counted.push(word.into()),
        }
    }
    counted
}

/// A form as people write it: `address`, `address/56`, `lower`, `email`.
fn form_of(text: &str) -> Option<(FormName, Option<u8>)> {
    match text.split_once('/') {
        Some(("address", bits)) => Some((FormName::Address, Some(bits.parse().ok()?))),
        _ => match text {
            "address" => Some((FormName::Address, None)),
            "lower" => Some((FormName::Lower, None)),
            "email" => Some((FormName::Email, None)),
            _ => None,
        },
    }
}

/// An attribute as [`listed`] reads it.
fn counted_text(counted: &CountedBody) -> String {
    let CountedBody::InForm(CountedInForm { attribute, form, ipv6_prefix }) = counted else {
        return counted.attribute().to_owned();
    };
    match (form, ipv6_prefix) {
        (FormName::Address, Some(bits)) => format!("{attribute} as address/{bits}"),
        (FormName::Address, None) => format!("{attribute} as address"),
        (FormName::Lower, _) => format!("{attribute} as lower"),
        (FormName::Email, _) => format!("{attribute} as email"),
    }
}

const NOT_WHOLE: &str = "must be a whole number";

#[cfg(test)]
mod tests;
