//! Overrides as a table: one a line, with a column `subject.…` for each attribute.

use std::collections::{BTreeMap, BTreeSet};

use weir_wire::overrides::{OverrideAnswer, OverrideBody};
use weir_wire::rules::RuleAnswer;
use weir_wire::time::DateTime;
use weir_wire::words::Action;

use crate::model::csv::Table;

/// What a table holds: the overrides, and what is wrong with which line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Read {
    /// With the line of each, from 1, the names of the columns being line 1.
    pub overrides: Vec<(usize, OverrideBody)>,
    pub wrong: Vec<String>,
}

const NAMESPACE: &str = "namespace";
const RULE: &str = "rule";
const ACTION: &str = "action";
const LIMITS: &str = "limits";
const EXPIRES_AT: &str = "expires_at";
const REASON: &str = "reason";
const SUBJECT: &str = "subject.";
/// More are not told: whoever has so many mends the file first.
const WRONG_MAX: usize = 20;

/// Writes overrides; those of rules that are gone are left out.
pub fn write(overrides: &[OverrideAnswer], rules: &[RuleAnswer]) -> Table {
    let attributes: BTreeSet<_> = overrides.iter().flat_map(|it| it.body.subject.keys()).collect();
    let fixed = [NAMESPACE, RULE, ACTION, LIMITS, EXPIRES_AT, REASON].map(str::to_owned);
    let names = attributes.iter().map(|name| format!("{SUBJECT}{name}"));
    let mut table = vec![fixed.into_iter().chain(names).collect::<Vec<_>>()];
    for OverrideAnswer { body, .. } in overrides {
        let Some(rule) = rules.iter().find(|rule| rule.id == body.rule_id) else { continue };
        let limits = body.limits.as_ref().and_then(|limits| serde_json::to_string(limits).ok());
        let mut line = vec![
            rule.rule.namespace.clone(),
            rule.rule.name.clone(),
            body.action.map_or(String::new(), |action| action.as_str().to_owned()),
            limits.unwrap_or_default(),
            body.expires_at.map_or_else(String::new, DateTime::text),
            body.reason.clone().unwrap_or_default(),
        ];
        let value = |name: &&String| body.subject.get(*name).cloned().unwrap_or_default();
        line.extend(attributes.iter().map(value));
        table.push(line);
    }
    table
}

/// Reads overrides of these rules, each checked as the server will.
pub fn read(table: &Table, rules: &[RuleAnswer]) -> Read {
    let mut read = Read::default();
    let Some((names, lines)) = table.split_first() else {
        read.wrong.push("the file is empty".to_owned());
        return read;
    };
    let known = [NAMESPACE, RULE, ACTION, LIMITS, EXPIRES_AT, REASON];
    let unknown = |name: &&String| !known.contains(&name.as_str()) && !name.starts_with(SUBJECT);
    if let Some(name) = names.iter().find(unknown) {
        read.wrong.push(format!("line 1: there is no column {name}"));
        return read;
    }
    let parsed: BTreeMap<_, _> = rules
        .iter()
        .filter_map(|rule| Some((rule.id.as_str(), rule.rule.clone().parse().ok()?)))
        .collect();
    for (line, cells) in (2..).zip(lines) {
        if read.wrong.len() >= WRONG_MAX {
            read.wrong.push("and maybe more".to_owned());
            break;
        }
        let checked = one(names, cells, rules).and_then(|body| {
            let rule = parsed.get(body.rule_id.as_str()).ok_or("its rule cannot be read")?;
            match body.parse(rule) {
                Ok(_) => Ok(body),
                Err(fields) => Err(fields
                    .into_iter()
                    .map(|it| format!("{} {}", it.field, it.reason))
                    .collect::<Vec<_>>()
                    .join("; ")),
            }
        });
        match checked {
            Ok(body) => read.overrides.push((line, body)),
            Err(why) => read.wrong.push(format!("line {line}: {why}")),
        }
    }
    read
}

/// `overrides[3].limits` of a batch, as a line of the file.
pub fn in_file(field: &str, batch: &[(usize, OverrideBody)]) -> String {
    let place = field.strip_prefix("overrides[").and_then(|rest| rest.split_once(']'));
    let named = place.and_then(|(at, rest)| Some((batch.get(at.parse::<usize>().ok()?)?, rest)));
    named.map_or_else(
        || field.to_owned(),
        |((line, _), rest)| format!("line {line} {}", rest.trim_start_matches('.')),
    )
}

fn one(names: &[String], cells: &[String], rules: &[RuleAnswer]) -> Result<OverrideBody, String> {
    if cells.len() > names.len() {
        return Err("has more cells than there are columns".to_owned());
    }
    let line: BTreeMap<&str, &str> =
        names.iter().map(String::as_str).zip(cells.iter().map(String::as_str)).collect();
    let cell = |name: &str| line.get(name).copied().filter(|cell| !cell.is_empty());
    let name = cell(RULE).ok_or("names no rule")?;
    let namespace = cell(NAMESPACE).unwrap_or("default");
    let is_it = |it: &&RuleAnswer| it.rule.name == name && it.rule.namespace == namespace;
    let rule = rules.iter().find(is_it);
    let rule = rule.ok_or_else(|| format!("there is no rule {name} in {namespace}"))?;
    let action = |word: &str| {
        let found = Action::ALL.iter().copied().find(|it| it.as_str() == word);
        found.ok_or_else(|| format!("{word} is no action: allow, deny, or empty for limits"))
    };
    let limits = |text: &str| serde_json::from_str(text).map_err(|why| format!("limits: {why}"));
    let expires_at = |text: &str| {
        let quoted = serde_json::Value::from(text);
        serde_json::from_value::<DateTime>(quoted).map_err(|why| format!("expires_at: {why}"))
    };
    let subject = |(name, cell): (&&str, &&str)| {
        let name = name.strip_prefix(SUBJECT)?;
        (!cell.is_empty()).then(|| (name.to_owned(), (*cell).to_owned()))
    };
    Ok(OverrideBody {
        rule_id: rule.id.clone(),
        subject: line.iter().filter_map(subject).collect(),
        limits: cell(LIMITS).map(limits).transpose()?,
        action: cell(ACTION).map(action).transpose()?,
        expires_at: cell(EXPIRES_AT).map(expires_at).transpose()?,
        reason: cell(REASON).map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::csv;

    fn rule() -> RuleAnswer {
        serde_json::from_value(serde_json::json!({
            "id": "rule_1", "namespace": "api", "name": "login", "count_by": ["user", "region"],
            "limits": [{"algorithm": "fixed_window", "limit": 5, "window_ms": 1000}],
            "revision": 1, "rulebook_version": 1,
            "created_at": "2026-11-21T03:00:00Z", "updated_at": "2026-11-21T03:00:00Z"
        }))
        .expect("a rule")
    }

    fn answer(body: &serde_json::Value) -> OverrideAnswer {
        let mut whole = serde_json::json!({
            "id": "override_1", "rule_id": "rule_1", "revision": 1, "rulebook_version": 1,
            "created_at": "2026-11-21T03:00:00Z", "updated_at": "2026-11-21T03:00:00Z"
        });
        let fields = body.as_object().expect("an object").clone();
        whole.as_object_mut().expect("an object").extend(fields);
        serde_json::from_value(whole).expect("an override")
    }

    #[test]
    fn what_was_written_is_read_back() {
        let overrides = [
            answer(&serde_json::json!({
                "subject": {"user": "=u,\"17\"", "region": "*"}, "reason": "-5, until\nFriday",
                "limits": [{"algorithm": "fixed_window", "limit": 50, "window_ms": 1000}],
                "expires_at": "2027-01-01T00:00:00Z"
            })),
            answer(
                &serde_json::json!({ "subject": {"user": "u-2", "region": "eu"}, "action": "deny" }),
            ),
        ];
        let text = csv::write(&write(&overrides, &[rule()]));
        let read = read(&csv::read(&text).expect("a table"), &[rule()]);
        assert_eq!(read.wrong, [""; 0]);
        let bodies: Vec<_> = read.overrides.into_iter().map(|(_, body)| body).collect();
        assert_eq!(bodies, overrides.map(|it| it.body));
    }

    #[test]
    fn each_line_says_what_is_wrong_with_it() {
        let text = "namespace,rule,action,limits,subject.user,subject.region\n\
            api,login,allow,,u-1,eu\n\
            api,logout,allow,,u-1,eu\n\
            api,login,maybe,,u-1,eu\n\
            api,login,,[],u-1,eu\n\
            api,login,deny,,u-1,\n";
        let read = read(&csv::read(text).expect("a table"), &[rule()]);
        assert_eq!(read.overrides.len(), 1);
        assert_eq!(read.wrong.len(), 4);
        assert_eq!(read.wrong[0], "line 3: there is no rule logout in api");
        assert!(read.wrong[1].starts_with("line 4: maybe is no action"), "{:?}", read.wrong);
        assert!(read.wrong[2].starts_with("line 5: limits must hold from 1"), "{:?}", read.wrong);
        assert!(read.wrong[3].starts_with("line 6: subject"), "{:?}", read.wrong);
    }

    #[test]
    fn what_the_server_refuses_is_told_by_its_line() {
        let body = answer(&serde_json::json!({ "subject": {}, "action": "deny" })).body;
        let batch = [(2, body.clone()), (5, body)];
        assert_eq!(in_file("overrides[1].subject", &batch), "line 5 subject");
        assert_eq!(in_file("overrides", &batch), "overrides");
    }

    #[test]
    fn a_column_that_is_not_known_is_told_at_once() {
        let table = csv::read("rule,usre\nlogin,x").expect("a table");
        assert_eq!(read(&table, &[rule()]).wrong, ["line 1: there is no column usre"]);
    }
}
