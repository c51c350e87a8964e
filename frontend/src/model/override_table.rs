//! Overrides as CSV: one per line, with a column for each attribute of the subjects.
//!
//! `namespace, rule, action, limits, starts_at, expires_at, reason, subject.user`. `action` is `allow`, `deny`, or empty for
//! limits. `limits` is the JSON of the API, or a number that replaces the limit of a rule with a single limit.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use weir_domain::algorithm::Input;
use weir_domain::rule::Rule;
use weir_wire::limits::LimitBody;
use weir_wire::overrides::{OverrideAnswer, OverrideBody};
use weir_wire::rules::RuleAnswer;
use weir_wire::time::DateTime;
use weir_wire::words::Action;

use crate::model::csv::{self, Record, Rows};
use crate::model::field_problem;
use crate::model::json;
use crate::model::number::parse;

/// Parses a file; `rules` are those of the tenant.
pub fn read(text: &str, rules: &[RuleAnswer]) -> Rows<OverrideBody> {
    let mut known = RuleIndex { rules, parsed: HashMap::new() };
    let mut subjects = HashSet::new();
    csv::read(text, Columns::of, |columns, record| {
        let body = columns.read(record, &mut known)?;
        let new = subjects.insert((body.rule_id.clone(), body.subject.clone()));
        new.then_some(body).ok_or_else(|| "duplicate of an earlier line".to_owned())
    })
}

/// Writes a file.
pub fn write(overrides: &[OverrideAnswer], rules: &[RuleAnswer]) -> String {
    let rules: HashMap<&str, &RuleAnswer> =
        rules.iter().map(|rule| (rule.id.as_str(), rule)).collect();
    let attributes: BTreeSet<&str> =
        overrides.iter().flat_map(|entry| entry.body.subject.keys()).map(String::as_str).collect();
    let mut text = String::new();
    let subjects: Vec<_> = attributes.iter().map(|name| format!("{SUBJECT}{name}")).collect();
    csv::write(NAMED_COLUMNS.into_iter().chain(subjects.iter().map(String::as_str)), &mut text);
    for OverrideAnswer { body, .. } in overrides {
        let rule = rules.get(body.rule_id.as_str()).map(|answer| &answer.rule);
        let (namespace, name) = rule.map_or(("", body.rule_id.as_str()), |rule| {
            (rule.namespace.as_str(), rule.name.as_str())
        });
        let limits = body.limits.as_ref().and_then(|limits| serde_json::to_string(limits).ok());
        let limits = limits.unwrap_or_default();
        let action = match body.action {
            Some(action @ (Action::Allow | Action::Deny)) => action.as_str(),
            _ => "",
        };
        let [starts_at, expires_at] =
            [body.starts_at, body.expires_at].map(|at| at.map(DateTime::text).unwrap_or_default());
        let reason = body.reason.as_deref().unwrap_or_default();
        let subject =
            attributes.iter().map(|name| body.subject.get(*name).map_or("", String::as_str));
        let cells = [namespace, name, action, &limits, &starts_at, &expires_at, reason];
        csv::write(cells.into_iter().chain(subject), &mut text);
    }
    text
}

/// The rules of the tenant, each parsed at most once.
struct RuleIndex<'a> {
    rules: &'a [RuleAnswer],
    parsed: HashMap<(String, String), Result<ParsedRule<'a>, String>>,
}

impl<'a> RuleIndex<'a> {
    fn rule(&mut self, namespace: &str, name: &str) -> &Result<ParsedRule<'a>, String> {
        let rules = self.rules;
        self.parsed.entry((namespace.to_owned(), name.to_owned())).or_insert_with(|| {
            let named = |answer: &&RuleAnswer| {
                answer.rule.name == name && answer.rule.namespace == namespace
            };
            let found = rules.iter().find(named);
            let found =
                found.ok_or_else(|| format!("no rule {name} in the namespace {namespace}"))?;
            let parsed = found.rule.clone().parse().map_err(|wrong| field_problem::list(&wrong))?;
            Ok((found, parsed))
        })
    }
}

type ParsedRule<'a> = (&'a RuleAnswer, Rule);

/// The indexes of the columns.
struct Columns {
    named: HashMap<String, usize>,
    subject: BTreeMap<String, usize>,
}

impl Columns {
    fn of(head: &Record) -> Result<Self, String> {
        let mut columns = Self { named: HashMap::new(), subject: BTreeMap::new() };
        for (at, name) in head.cells.iter().enumerate() {
            let before = match name.strip_prefix(SUBJECT) {
                Some(attribute) => columns.subject.insert(attribute.to_owned(), at),
                None if NAMED_COLUMNS.contains(&name.as_str()) => {
                    columns.named.insert(name.clone(), at)
                }
                None if name.is_empty() => None,
                None => return Err(format!("unknown column {name}; the columns are {COLUMNS}")),
            };
            if before.is_some() {
                return Err(format!("duplicate column {name}"));
            }
        }
        if !columns.named.contains_key("rule") || columns.subject.is_empty() {
            return Err(format!("the first line must name the columns: {COLUMNS}"));
        }
        Ok(columns)
    }

    fn read(&self, record: &Record, known: &mut RuleIndex<'_>) -> Result<OverrideBody, String> {
        let cell = |at: &usize| record.cells.get(*at).map_or("", String::as_str);
        let named = |name: &str| self.named.get(name).map_or("", cell);
        let namespace = match named("namespace") {
            "" => weir_domain::request::DEFAULT_NAMESPACE,
            namespace => namespace,
        };
        let (found, rule) = known.rule(namespace, named("rule")).as_ref().map_err(Clone::clone)?;
        let subject = self.subject.iter().map(|(name, at)| (name.clone(), cell(at).to_owned()));
        let action = match named("action") {
            "allow" => Some(Action::Allow),
            "deny" => Some(Action::Deny),
            "" | "limit" => None,
            word => {
                return Err(format!(
                    "unknown action {word}: use allow, deny, or leave empty for limits"
                ));
            }
        };
        let at = |name: &str| match named(name) {
            "" => Ok(None),
            text => time(text).map(Some).ok_or_else(|| format!("{name} {NO_TIME}")),
        };
        let body = OverrideBody {
            rule_id: found.id.clone(),
            subject: subject.filter(|(_, value)| !value.is_empty()).collect(),
            limits: limits(named("limits"), &found.rule.limits, action)?,
            action,
            starts_at: at("starts_at")?,
            expires_at: at("expires_at")?,
            reason: Some(named("reason").to_owned()).filter(|reason| !reason.is_empty()),
        };
        body.parse(rule).map_err(|wrong| field_problem::list(&wrong))?;
        Ok(body)
    }
}

fn limits(
    text: &str,
    own: &[LimitBody],
    action: Option<Action>,
) -> Result<Option<Vec<LimitBody>>, String> {
    if text.is_empty() {
        return match action {
            Some(_) => Ok(None),
            None => Err("limits or an action of allow or deny is required".to_owned()),
        };
    }
    if let Some(number) = parse(text) {
        return match own {
            [one] => with_number(one, number).map(|limit| Some(vec![limit])),
            _ => Err(format!("limits: the rule has {}; use JSON", own.len())),
        };
    }
    serde_json::from_str(text).map(Some).map_err(|why| format!("limits: {why}"))
}

/// A limit with another number.
fn with_number(limit: &LimitBody, number: u64) -> Result<LimitBody, String> {
    let parameters = limit.algorithm().kind().parameters();
    let units = parameters.iter().find(|parameter| parameter.input == Input::Units);
    let units = units.ok_or("limits: the rule's limit has no number; use JSON")?;
    let mut body = serde_json::to_value(limit).map_err(|why| format!("limits: {why}"))?;
    body[units.name] = number.into();
    json::read_value(&body).map_err(|why| format!("limits: {why}"))
}

fn time(text: &str) -> Option<DateTime> {
    json::read_value(&text.into()).ok()
}

const SUBJECT: &str = "subject.";
const NAMED_COLUMNS: [&str; 7] =
    ["namespace", "rule", "action", "limits", "starts_at", "expires_at", "reason"];
const COLUMNS: &str =
    "namespace, rule, action, limits, starts_at, expires_at, reason, subject.<attribute>";
const NO_TIME: &str = "must be a time, for example 2026-12-31T23:59:59Z";

#[cfg(test)]
mod tests;
