//! The checks of a request that need no stored rule.

use std::collections::HashMap;

use weir_domain::names;
use weir_http::problem::Problem;
use weir_wire::apply::{APPLY_RULES_MAX, ApplyBody};
use weir_wire::problem::FieldProblem;

use crate::rule_service::CheckedRule;

/// The most invalid fields that one answer names.
const REPORTED_MAX: usize = 50;

/// The checked rules in the order of the request, or a problem that names the invalid fields.
pub(super) fn checked(body: &ApplyBody) -> Result<Vec<CheckedRule>, Problem> {
    let count = body.rules.len();
    let others = [body.profiles.len(), body.overrides.len(), body.alerts.len()];
    if count == 0 && others == [0; 3] {
        let reason = "must hold a rule, unless `profiles`, `overrides` or `alerts` has an object";
        return Err(Problem::invalid_field("rules", reason));
    }
    if count > APPLY_RULES_MAX {
        let reason = format!("must hold at most {APPLY_RULES_MAX} rules");
        return Err(Problem::invalid_field("rules", reason));
    }
    if let Err(reason) = names::rule(&body.set) {
        return Err(Problem::invalid_field("set", reason));
    }
    let mut wrong = duplicates(body);
    let mut checked = Vec::with_capacity(count);
    for (at, wanted) in body.rules.iter().enumerate() {
        match wanted.rule.clone().parse() {
            Ok(rule) => checked.push(CheckedRule { body: wanted.rule.clone(), rule }),
            Err(fields) => wrong.extend(fields.into_iter().map(|field| {
                FieldProblem::new(format!("{}.{}", path(at), field.field), field.reason)
            })),
        }
        if wrong.len() >= REPORTED_MAX {
            break;
        }
    }
    if wrong.is_empty() { Ok(checked) } else { Err(Problem::invalid(wrong)) }
}

/// The path of a rule in the request.
pub(super) fn path(at: usize) -> String {
    format!("rules[{at}].rule")
}

/// Names that occur twice, now or before a renaming.
fn duplicates(body: &ApplyBody) -> Vec<FieldProblem> {
    let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
    let mut wrong = Vec::new();
    for (at, wanted) in body.rules.iter().enumerate() {
        let rule = &wanted.rule;
        if let Some(first) = seen.insert((&rule.namespace, &rule.name), at) {
            let reason = format!("is the name of rules[{first}] too");
            wrong.push(FieldProblem::new(format!("{}.name", path(at)), reason));
        }
    }
    for (at, wanted) in body.rules.iter().enumerate() {
        let Some(former) = &wanted.renamed_from else { continue };
        if let Some(other) = seen.insert((&wanted.rule.namespace, former), at) {
            let reason = format!("is the name of rules[{other}] too");
            wrong.push(FieldProblem::new(format!("rules[{at}].renamed_from"), reason));
        }
    }
    wrong
}
