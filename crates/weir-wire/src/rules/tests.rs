use super::*;

fn read(json: &str) -> Result<RuleBody, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

const LOGIN: &str = r#"{
    "namespace": "api", "name": "login-per-user", "description": "",
    "match": [ { "attribute": "route", "op": "equals", "value": "/login" } ],
    "count_by": ["user"], "action": "limit", "mode": "enforce",
    "limits": [
        { "algorithm": "sliding_window_log", "limit": 5, "window_ms": 60000, "count_denied": false },
        { "algorithm": "spacing", "interval_ms": 1000 }
    ],
    "block_ms": null, "on_store_failure": "allow", "consistency": "exact", "over": "deny"
}"#;

#[test]
fn documented_rule_is_read_parsed_and_written_the_same() {
    let body = read(LOGIN).expect("the documented rule is valid");
    let as_given: serde_json::Value = serde_json::from_str(LOGIN).expect("JSON");
    assert_eq!(serde_json::to_value(&body).expect("serialises"), as_given);
    let rule = body.parse().expect("parses");
    assert_eq!((rule.name(), rule.limits().len()), ("login-per-user", 2));
}

#[test]
fn answer_is_flat_and_comes_back() {
    let body = read(LOGIN).expect("valid");
    let at = DateTime(weir_domain::time::Timestamp::from_millis(1_700_000_000_000));
    let answer = RuleAnswer {
        id: "rule_01".into(),
        rule: body,
        revision: 3,
        rulebook_version: 42,
        created_at: at,
        updated_at: at,
        overrides: Some(2),
        changed_by: None,
        managed_by: None,
        edited: false,
        warnings: Vec::new(),
        bound: None,
        unreadable: None,
    };
    let json = serde_json::to_value(&answer).expect("serialises");
    assert_eq!(json["name"], "login-per-user");
    assert_eq!(json["match"][0]["op"], "equals");
    assert_eq!(serde_json::from_value::<RuleAnswer>(json).expect("comes back"), answer);
}

#[test]
fn misspelt_missing_and_foreign_parameters_are_named() {
    for (limit, said) in [
        (r#"{"algorithm":"fixed_window","limit":5}"#, "`window_ms` is missing"),
        (
            r#"{"algorithm":"fixed_window","limit":5,"window_ms":1,"capacity":2}"#,
            "`capacity` is not",
        ),
        (r#"{"algorithm":"fixed_window","limit":5,"window":1}"#, "unknown field `window`"),
        (r#"{"algorithm":"magic","limit":5}"#, "unknown variant `magic`"),
        (r#"{"algorithm":"quota","limit":5,"time_zone":"UTC"}"#, "`period` is missing"),
        (r#"{"limit":5}"#, "missing field `algorithm`"),
        (r#"{"algorithm":"spacing","interval_ms":-1}"#, "invalid value: integer `-1`"),
    ] {
        let error = read(&format!(r#"{{"name":"x","limits":[{limit}]}}"#)).expect_err(limit);
        assert!(error.contains(said), "{limit}: {error}");
    }
    assert!(read(r#"{"name":"x","limit":[]}"#).expect_err("misspelt").contains("unknown field"));
}

#[test]
fn unreadable_rule_shows_what_can_be_read_of_it() {
    let spec = serde_json::json!({
        "namespace": "api", "name": "login", "on_store_failure": "deny",
        "match": [{ "attribute": "route", "op": "equals", "value": "/login" }],
        "limits": [{ "algorithm": "nonsense", "limit": 2 }],
        "invented_later": true,
    });
    assert!(serde_json::from_value::<RuleBody>(spec.clone()).is_err());
    let read = RuleBody::readable_part(&spec).unwrap();
    assert_eq!((read.namespace.as_str(), read.name.as_str()), ("api", "login"));
    assert_eq!((read.conditions.len(), read.limits.len()), (1, 0));
    assert_eq!(read.on_store_failure, crate::words::OnStoreFailure::Deny);
    assert_eq!(RuleBody::readable_part(&serde_json::json!({ "name": 7 })), None);
    assert_eq!(RuleBody::readable_part(&serde_json::json!("text")), None);
}

#[test]
fn attributes_are_counted_as_they_are_or_in_a_form() {
    let with = |counted: &str| read(&LOGIN.replace(r#"["user"]"#, &format!("[{counted}]")));
    for (given, written) in [
        (r#""user""#, r#"["user"]"#),
        (
            r#"{"attribute":"ip","as":"address"}"#,
            r#"[{"attribute":"ip","as":"address","ipv6_prefix":64}]"#,
        ),
        (
            r#"{"attribute":"ip","as":"address","ipv6_prefix":56}"#,
            r#"[{"attribute":"ip","as":"address","ipv6_prefix":56}]"#,
        ),
        (r#"{"attribute":"user","as":"email"}"#, r#"[{"attribute":"user","as":"email"}]"#),
    ] {
        let rule = with(given).expect(given).parse().expect(given);
        let body = RuleBody::from(rule.draft());
        assert_eq!(serde_json::to_string(&body.count_by).expect("JSON"), written);
    }
    for wrong in [
        r#"{"attribute":"ip","as":"lower","ipv6_prefix":64}"#,
        r#"{"attribute":"ip","as":"upper"}"#,
        r#"{"attribute":"ip"}"#,
        r#"{"attribute":"ip","as":"lower","more":1}"#,
        "7",
    ] {
        let error = with(wrong).expect_err(wrong);
        assert!(error.contains("`attribute`, `as` (`address`, `lower` or `email`)"), "{error}");
    }
    for (wrong, field, reason) in [
        (
            r#"{"attribute":"ip","as":"address","ipv6_prefix":0}"#,
            "count_by[0].ipv6_prefix",
            "must be from 1 to 128",
        ),
        (
            r#"{"attribute":"ip","as":"address","ipv6_prefix":129}"#,
            "count_by[0].ipv6_prefix",
            "must be from 1 to 128",
        ),
        (r#""ip",{"attribute":"ip","as":"address"}"#, "count_by[1]", "must not be named twice"),
    ] {
        let problems = with(wrong).expect("JSON").parse().expect_err(wrong);
        assert_eq!(problems, [FieldProblem::new(field, reason)]);
    }
}
