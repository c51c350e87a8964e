//! Override files.

use serde_json::{Value, json};

use super::*;

fn rules() -> Vec<RuleAnswer> {
    let rule = |name: &str, count_by: Value, limits: Value| {
        let rule = json!({
            "id": format!("rule_{name}"), "namespace": "default", "name": name,
            "count_by": count_by, "limits": limits, "revision": 1, "rulebook_version": 1,
            "created_at": "2026-11-21T03:00:00Z", "updated_at": "2026-11-21T03:00:00Z"
        });
        serde_json::from_value(rule).expect("a rule")
    };
    let window = || json!({"algorithm": "fixed_window", "limit": 5, "window_ms": 60_000});
    let spacing = json!({"algorithm": "spacing", "interval_ms": 1_000});
    vec![
        rule("login", json!(["user"]), json!([window()])),
        rule("pair", json!(["user", "ip"]), json!([window(), spacing])),
    ]
}

fn problems(text: &str) -> Vec<String> {
    read(text, &rules()).wrong
}

#[test]
fn a_number_replaces_the_rules_limit() {
    let import = read("rule,subject.user,limits,reason\nlogin,u-1,50,pays\n", &rules());
    assert_eq!(import.wrong, [""; 0]);
    let body = json!({
        "rule_id": "rule_login", "subject": {"user": "u-1"}, "reason": "pays",
        "limits": [{"algorithm": "fixed_window", "limit": 50, "window_ms": 60_000}],
    });
    assert_eq!(import.rows, [(2, serde_json::from_value(body).expect("an override"))]);
}

#[test]
fn written_tables_parse_to_the_same_values() {
    let answer = |body: Value| {
        let mut answer = json!({
            "id": "override_1", "revision": 1, "rulebook_version": 1,
            "created_at": "2026-11-21T03:00:00Z", "updated_at": "2026-11-21T03:00:00Z"
        });
        answer.as_object_mut().expect("an object").extend(body.as_object().expect("one").clone());
        serde_json::from_value::<OverrideAnswer>(answer).expect("an override")
    };
    let overrides = [
        answer(json!({"rule_id": "rule_login", "subject": {"user": "=cmd|' /C calc'!A0"},
            "action": "allow", "expires_at": "2026-12-31T23:59:59.999Z"})),
        answer(json!({"rule_id": "rule_pair", "subject": {"user": "'@a", "ip": "*"},
            "limits": [{"algorithm": "spacing", "interval_ms": 7}], "starts_at": "2026-12-01T00:00:00Z", "reason": "-1, \"so\"\nto say"})),
        answer(json!({"rule_id": "rule_login", "subject": {"user": "زبون"}, "action": "deny"})),
    ];
    let text = write(&overrides, &rules());
    assert!(text.contains(",'=cmd|"), "{text}");
    let import = read(&text, &rules());
    assert_eq!(import.wrong, [""; 0]);
    let bodies: Vec<_> = import.rows.into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies, overrides.map(|answer| answer.body));
}

#[test]
fn problems_report_their_lines() {
    assert_eq!(
        problems("rule,subject.user\n")
            .into_iter()
            .chain(problems("name\nx"))
            .chain(problems("rule,subject.user,rule\nx"))
            .collect::<Vec<_>>(),
        [
            format!("line 1: unknown column name; the columns are {COLUMNS}"),
            "line 1: duplicate column rule".to_owned()
        ]
    );
    assert_eq!(
        problems(
            "rule,subject.user,action,limits,expires_at\n\
             nobody,u-1,allow\n\
             login,,allow\n\
             login,u-1,maybe\n\
             login,u-1\n\
             login,u-1,,0\n\
             pair,u-1,,9\n\
             login,u-1,allow,,soon\n\
             login,u-1,allow\n\
             login,u-1,deny\n"
        ),
        [
            "line 2: no rule nobody in the namespace default",
            "line 3: subject.user must be given: the rule counts by it",
            "line 4: unknown action maybe: use allow, deny, or leave empty for limits",
            "line 5: limits or an action of allow or deny is required",
            "line 6: limits[0].limit must be from 1 to 1000000000000",
            "line 7: limits: the rule has 2; use JSON",
            "line 8: expires_at must be a time, for example 2026-12-31T23:59:59Z",
            "line 10: duplicate of an earlier line",
        ]
    );
    assert_eq!(problems("a\n\"b"), ["line 2: a quote is opened and never closed"]);
}

#[test]
fn batch_fields_map_to_lines_of_the_file() {
    let text = "rule,subject.user,action,reason\n\nlogin,u-1,allow,\"two\nlines\"\nlogin,u-2,allow";
    let read = read(text, &rules());
    assert_eq!(read.wrong, [""; 0]);
    assert_eq!(csv::file_problem("overrides[1].reason", "overrides", &read.rows), "line 5 reason");
    assert_eq!(csv::file_problem("reason", "overrides", &read.rows), "reason");
}
