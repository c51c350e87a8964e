//! In what two versions of a rule differ, in words.

use weir_wire::rules::RuleBody;
use weir_wire::words::Consistency;

use crate::model::duration;
use crate::model::words;

/// One thing that differs: what it was, and what it is; `None` where it was not or is no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub what: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// The fields that differ, in the order of the form.
pub fn fields(a: &RuleBody, b: &RuleBody) -> Vec<&'static str> {
    let differs = [
        ("namespace", a.namespace != b.namespace),
        ("name", a.name != b.name),
        ("action", a.action != b.action),
        ("mode", a.mode != b.mode),
        ("description", a.description != b.description),
        ("conditions", a.conditions != b.conditions),
        ("count by", a.count_by != b.count_by),
        ("limits", a.limits != b.limits),
        ("block", a.block_ms != b.block_ms),
        ("failure", a.on_store_failure != b.on_store_failure),
        ("consistency", a.consistency != b.consistency),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// All that differs; limits are paired by their places.
pub fn differences(a: &RuleBody, b: &RuleBody) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |what: &str, before: Option<String>, after: Option<String>| {
        if before != after {
            found.push(Difference { what: what.to_owned(), before, after });
        }
    };
    let mut field =
        |what: &str, said: fn(&RuleBody) -> String| add(what, Some(said(a)), Some(said(b)));
    field("Namespace", |rule| rule.namespace.clone());
    field("Name", |rule| rule.name.clone());
    field("Description", |rule| rule.description.clone());
    field("Matches", |rule| words::matches(&rule.conditions));
    field("Counts", |rule| words::counted_by(&rule.count_by));
    field("Action", |rule| rule.action.as_str().to_owned());
    for at in 0..a.limits.len().max(b.limits.len()) {
        let limit = |rule: &RuleBody| rule.limits.get(at).map(words::limit);
        add(&format!("Limit {}", at + 1), limit(a), limit(b));
    }
    let block = |rule: &RuleBody| rule.block_ms.map(duration::short);
    add("Block after a denial", block(a), block(b));
    let mut field =
        |what: &str, said: fn(&RuleBody) -> String| add(what, Some(said(a)), Some(said(b)));
    field("Mode", |rule| words::mode(rule.mode).to_owned());
    field("While Redis is away", |rule| words::failure(rule.on_store_failure).to_owned());
    field("Decided", |rule| match rule.consistency {
        Consistency::Exact => "by Redis each time".to_owned(),
        Consistency::Leased => "by gates, from units taken in advance".to_owned(),
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(limits: &str) -> RuleBody {
        let text = format!(r#"{{"name":"a","count_by":["user"],"limits":[{limits}]}}"#);
        serde_json::from_str(&text).expect("a rule")
    }

    #[test]
    fn only_what_differs_is_named() {
        let a = rule("");
        let mut b = a.clone();
        assert_eq!(fields(&a, &b), [""; 0]);
        assert_eq!(differences(&a, &b), []);
        b.description = "new".to_owned();
        b.count_by.clear();
        assert_eq!(fields(&a, &b), ["description", "count by"]);
        let counts = differences(&a, &b).pop().expect("two");
        assert_eq!(counts.before.as_deref(), Some("for each user"));
        assert_eq!(counts.after.as_deref(), Some("all together"));
    }

    #[test]
    fn limits_are_paired_and_may_come_and_go() {
        let one = r#"{"algorithm":"fixed_window","limit":5,"window_ms":60000}"#;
        let two = r#"{"algorithm":"fixed_window","limit":9,"window_ms":60000},
            {"algorithm":"spacing","interval_ms":1000}"#;
        let found = differences(&rule(one), &rule(two));
        let said: Vec<_> = found
            .iter()
            .map(|it| (it.what.as_str(), it.before.as_deref(), it.after.as_deref()))
            .collect();
        assert_eq!(
            said,
            [
                (
                    "Limit 1",
                    Some("5 in each minute of the clock"),
                    Some("9 in each minute of the clock")
                ),
                ("Limit 2", None, Some("at least 1 s apart")),
            ]
        );
    }
}
