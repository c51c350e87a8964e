//! Statistics: aligned, gap-filled, bounded, and separate for each tenant.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use weir_domain::ceilings::TENANT_RATE_RULE;
use weir_domain::id::{DenialId, GateId, RuleId, TenantId};
use weir_domain::rule::Segment;
use weir_domain::time::Timestamp;
use weir_domain::unmatched::{UNKNOWN_NAMESPACE_RULE, UNMATCHED_RULE, missing_attribute_rule};
use weir_store::{
    DenialDetail, DenialRow, DropCount, Flush, Scope, SketchEntry, SketchRow, TallyCounts, TallyRow,
};

use super::support::{Member, Plane};

const MINUTE_MS: i64 = 60_000;

/// The statistics that a gate would write.
struct Wrote {
    flush: Flush,
    tenant: TenantId,
}

impl Wrote {
    fn of(member: &Member, now: Timestamp) -> Self {
        let tenant: TenantId = member.tenant.parse().expect("an id");
        let (gate_id, boot_id) = (GateId::from_u128(tenant.to_u128()), tenant.to_u128());
        let flush =
            Flush { gate_id, boot_id, region: None, oldest_minute: now, age: Duration::ZERO };
        Self { flush, tenant }
    }

    async fn tallies(&self, plane: &Plane, rows: &[(Option<RuleId>, Timestamp, u64, u64)]) {
        let rows: Vec<_> = rows
            .iter()
            .map(|&(rule_id, minute, allowed, denied)| TallyRow {
                tenant_id: self.tenant,
                rule_id,
                minute,
                namespace: "default".to_owned(),
                counts: TallyCounts { allowed, denied, ..TallyCounts::default() },
            })
            .collect();
        let scope = Scope::Gate(self.flush.gate_id);
        let mut tx = plane.database.gate.begin("tests.tallies", scope).await.expect("begin");
        tx.tallies().report(&self.flush).await.expect("report");
        tx.tallies().write(&self.flush, &rows).await.expect("write");
        let dropped = [DropCount { minute: self.flush.oldest_minute, dropped: 2 }];
        tx.tallies().write_dropped(&self.flush, &dropped).await.expect("write");
        tx.commit().await.expect("commit");
    }

    async fn subjects(&self, plane: &Plane, rule_id: RuleId, at: Timestamp) {
        let subject = json!({ "user": "u-1" });
        let entry = SketchEntry {
            rule_id,
            subject: subject.clone(),
            checks: 8,
            denied: 3,
            shadow_denied: 1,
        };
        let sketch =
            SketchRow { tenant_id: self.tenant, at, checks: 8, floor: 1, entries: vec![entry] };
        let denial = |offset: i64| denial(self.tenant, rule_id, at.plus_ms(offset));
        let scope = Scope::Gate(self.flush.gate_id);
        let mut tx = plane.database.gate.begin("tests.subjects", scope).await.expect("begin");
        tx.top_subjects().write(&self.flush, &[sketch]).await.expect("write");
        tx.denials().write(&self.flush, &[denial(0), denial(1), denial(2)]).await.expect("write");
        tx.commit().await.expect("commit");
    }
}

impl Wrote {
    /// Writes an entry of the log of denials.
    async fn denied(&self, plane: &Plane, rule_id: RuleId, at: Timestamp, user: &str) {
        let denial =
            DenialRow { subject: json!({ "user": user }), ..denial(self.tenant, rule_id, at) };
        let scope = Scope::Gate(self.flush.gate_id);
        let mut tx = plane.database.gate.begin("tests.denied", scope).await.expect("begin");
        tx.denials().write(&self.flush, &[denial]).await.expect("write");
        tx.commit().await.expect("commit");
    }
}

/// A denied check of the user `u-1`.
fn denial(tenant_id: TenantId, rule_id: RuleId, at: Timestamp) -> DenialRow {
    DenialRow {
        id: DenialId::new(at, 1),
        tenant_id,
        at,
        namespace: "default".to_owned(),
        rule_id,
        rule: "login".to_owned(),
        shadow: false,
        subject: json!({ "user": "u-1" }),
        cost: 1,
        retry_after_ms: Some(100),
        degraded: false,
        stands_for: 1,
        detail: DenialDetail::default(),
    }
}

/// The start of the present minute.
fn minute(plane: &Plane) -> Timestamp {
    Timestamp::from_millis(plane.now_ms() / MINUTE_MS * MINUTE_MS)
}

#[tokio::test]
async fn series_fills_gaps_and_summary_agrees() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let now = minute(&plane);
    let wrote = Wrote::of(&ada, now.plus_ms(-10 * MINUTE_MS));
    let rule = RuleId::new(now, 3);
    let at = |minutes: i64| now.plus_ms(minutes * MINUTE_MS);
    let rows = [
        (None, at(-90), 1000, 0),
        (None, at(-10), 5, 1),
        (None, at(-2), 7, 0),
        (Some(rule), at(-2), 6, 2),
    ];
    wrote.tallies(&plane, &rows).await;
    let series = plane.by(&ada, "GET", "stats/series?step_s=60").send().await.expect(200).body;
    let column = |name: &str| -> Vec<u64> {
        let column = series[name].as_array().expect("a list");
        column.iter().map(|count| count.as_u64().expect("a count")).collect()
    };
    let (allowed, denied) = (column("allowed"), column("denied"));
    assert!((60..=61).contains(&allowed.len()), "{}", allowed.len());
    for name in ["denied", "shadow_denied", "degraded", "refunded", "recorded"] {
        assert_eq!(column(name).len(), allowed.len(), "{name}");
    }
    assert_eq!((allowed.iter().sum::<u64>(), denied.iter().sum::<u64>()), (12, 1));
    assert_eq!(allowed.iter().filter(|count| **count > 0).count(), 2);
    assert_eq!((&series["starts"], &series["dropped"]), (&Value::Null, &json!(2)));

    let summary = plane.by(&ada, "GET", "stats/summary").send().await.expect(200).body;
    assert_eq!(
        (&summary["counts"]["allowed"], &summary["counts"]["denied"]),
        (&json!(12), &json!(1))
    );
    assert_eq!(summary["previous"]["allowed"], 1000);
    let of_rule = format!("stats/summary?rule_id={rule}");
    let summary = plane.by(&ada, "GET", &of_rule).send().await.expect(200).body;
    assert_eq!(summary["counts"]["denied"], 2);
    let elsewhere = plane.by(&ada, "GET", "stats/summary?namespace=web").send().await.expect(200);
    assert_eq!(elsewhere.body["counts"]["allowed"], 0);

    let eve = plane.member("eve@example.com").await;
    let theirs = plane.by(&eve, "GET", &of_rule).send().await.expect(200).body;
    assert_eq!(theirs["counts"]["denied"], 0, "another tenant's rule counts nothing");
}

#[tokio::test]
async fn variants_are_counted_apart_and_compared_by_their_denied_subjects() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let variant = |name: &str, limit: u64| {
        let limit = json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": 60_000 });
        json!({ "name": name, "percent": 50, "limits": [limit] })
    };
    let rule = json!({ "name": "trial", "count_by": ["user"], "variants": [variant("a", 1), variant("b", 2)] });
    let id = plane.by(&ada, "POST", "rules").json(&rule).send().await.expect(201).text("/id");
    let rule_id: RuleId = id.parse().expect("an id");
    // With an override a subject belongs to no variant.
    let exempt = json!({ "rule_id": id, "subject": { "user": "u-0" }, "action": "allow" });
    plane.by(&ada, "POST", "overrides").json(&exempt).send().await.expect(201);
    let now = minute(&plane);
    let wrote = Wrote::of(&ada, now.plus_ms(-10 * MINUTE_MS));
    let rows = [
        (Some(rule_id), now.plus_ms(-2 * MINUTE_MS), 30, 12),
        (Some(Segment::Variant("a").id(rule_id)), now.plus_ms(-2 * MINUTE_MS), 10, 8),
        (Some(Segment::Variant("b").id(rule_id)), now.plus_ms(-2 * MINUTE_MS), 20, 4),
    ];
    wrote.tallies(&plane, &rows).await;
    for user in 0..40 {
        let at = Timestamp::from_millis(plane.now_ms() + user);
        wrote.denied(&plane, rule_id, at, &format!("u-{user}")).await;
    }
    // An entry from before the edit counts for no segment.
    wrote.denied(&plane, rule_id, now.plus_ms(-MINUTE_MS), "u-99").await;
    plane.advance(MINUTE_MS);
    let path = format!("rules/{id}/segments");
    let found = plane.by(&ada, "GET", &path).send().await.expect(200).body;
    let [a, b] = [&found["data"][0], &found["data"][1]];
    assert_eq!(
        (&a["name"], &a["percent"], &a["counts"]["denied"]),
        (&json!("a"), &json!(50), &json!(8))
    );
    assert_eq!((&b["counts"]["allowed"], &b["counts"]["denied"]), (&json!(20), &json!(4)));
    let subjects = [a, b].map(|segment| segment["subjects_denied"].as_u64().expect("a count"));
    assert_eq!(subjects.iter().sum::<u64>(), 39, "all but the one with an override");
    let bound = |name: &str| b["compared"][name].as_f64().expect("a bound");
    assert!(bound("low") < bound("ratio") && bound("ratio") < bound("high"), "{b}");
    assert_eq!((&a["compared"], &found["subjects_complete"]), (&Value::Null, &json!(true)));
    let rules = plane.by(&ada, "GET", "stats/rules").send().await.expect(200).body;
    assert_eq!(rules["data"].as_array().expect("a list").len(), 1, "segments are no rules");
    plane.by(&ada, "GET", &format!("{path}?from=soon")).send().await.problem(422, "invalid");
}

/// The counts of the second region, of gates without one and of another tenant are numbers of their own.
#[tokio::test]
async fn statistics_of_the_regions_add_up_and_an_unknown_region_is_refused() {
    let plane = Plane::start().await;
    let (ada, eve) = (plane.member("ada@example.com").await, plane.member("eve@example.com").await);
    let limit = json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 });
    let rule = json!({ "name": "login", "count_by": ["user"], "limits": [limit] });
    let rule = plane.by(&ada, "POST", "rules").json(&rule).send().await.expect(201).text("/id");
    let (rule, now) = (rule.parse().expect("an id"), minute(&plane).plus_ms(-MINUTE_MS));
    for (at, member, region, count) in [
        (1, &ada, None, 1),
        (2, &ada, Some("eu"), 10),
        (3, &ada, Some("us"), 100),
        (4, &eve, Some("us"), 5_000),
    ] {
        let mut wrote = Wrote::of(member, now);
        wrote.flush.region = region.map(str::to_owned);
        wrote.flush.boot_id = at;
        wrote.tallies(&plane, &[(None, now, count, 0), (Some(rule), now, 2 * count, 0)]).await;
    }
    let read = async |query: &str| {
        let path = format!("stats/{query}");
        plane.by(&ada, "GET", &path).send().await
    };
    assert_eq!(read("summary?region=us").await.expect(422).text("/fields/0/field"), "region");
    plane.has_regions(&["eu", "us", "ap"]);
    let sum = |body: &Value, of: &str| -> u64 {
        body.pointer(of)
            .and_then(Value::as_array)
            .expect("counts")
            .iter()
            .filter_map(Value::as_u64)
            .sum()
    };
    let checks = async |region: &str| {
        let summary = read(&format!("summary?{region}")).await.expect(200).body;
        let series = read(&format!("series?step_s=60&{region}")).await.expect(200).body;
        let rules = read(&format!("rules?{region}")).await.expect(200).body;
        let top = read(&format!("top?by=rule&order=checks&{region}")).await.expect(200).body;
        let checks = summary["counts"]["allowed"].as_u64().expect("a count");
        assert_eq!(sum(&series, "/allowed"), checks, "{region}");
        if checks > 0 {
            assert_eq!(sum(&rules, "/data/0/allowed"), 2 * checks, "{region}");
            assert_eq!(top["data"][0]["checks"], json!(2 * checks), "{region}");
        } else {
            assert_eq!((&rules["data"], &top["data"]), (&json!([]), &json!([])));
        }
        checks
    };
    assert_eq!(checks("").await, 111);
    assert_eq!((checks("region=eu").await, checks("region=us").await), (10, 100));
    assert_eq!((checks("region=").await, checks("region=ap").await), (1, 0));
    for query in ["summary?", "series?", "rules?", "top?by=rule&", "top?"] {
        let refused = read(&format!("{query}region=mars")).await.expect(422);
        assert_eq!(refused.text("/fields/0/field"), "region", "{query}");
    }
    let of_subjects = read("top?by=subject&region=eu").await.expect(422);
    assert_eq!(of_subjects.text("/fields/0/reason"), "is for rules, not for subjects");
}

#[tokio::test]
async fn wrong_ranges_are_refused_by_field() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    for (query, field) in [
        ("series?step_s=61", "step_s"),
        ("series?step_s=60&from=2026-01-01T00:00:00Z", "step_s"),
        ("series?from=yesterday", "from"),
        ("series?from=2999-01-01T00:00:00Z", "from"),
        ("series?rule_id=x", "rule_id"),
        ("series?step_s=86400&time_zone=Mars", "time_zone"),
        ("series?color=red", "color"),
        ("rules?step_s=61", "step_s"),
        ("top?limit=0", "limit"),
        ("top?by=colour", "by"),
        ("top?by=rule&rule_id=rule_x", "rule_id"),
        ("denials?cursor=x", "cursor"),
    ] {
        let answer = plane.by(&ada, "GET", &format!("stats/{query}")).send().await;
        assert_eq!(answer.refused_field(), field, "{query}");
    }
}

/// The next event of a stream: its name and data. Heartbeats are skipped.
async fn event(stream: &mut Body) -> Option<(String, Value)> {
    loop {
        let frame = tokio::time::timeout(Duration::from_secs(20), stream.frame());
        let frame = frame.await.expect("something every second")?.expect("a whole frame");
        let text = String::from_utf8(frame.into_data().expect("data").to_vec()).expect("UTF-8");
        let line =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if let (Some(name), Some(data)) = (line("event:"), line("data:")) {
            return Some((name.to_owned(), serde_json::from_str(data).expect("JSON")));
        }
    }
}

#[tokio::test]
async fn summary_names_checks_that_met_no_rule_their_reason_and_unknown_namespaces() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 1000 }]);
    let body = json!({ "name": "login", "count_by": [{ "attribute": "user", "as": "lower" }], "limits": limits });
    plane.by(&ada, "POST", "rules").json(&body).send().await.expect(201);
    let now = minute(&plane);
    let wrote = Wrote::of(&ada, now);
    let none = plane.by(&ada, "GET", "stats/summary").send().await.expect(200).body;
    assert_eq!(none["unmatched"], json!([]));

    let user = missing_attribute_rule("user");
    let ip = missing_attribute_rule("ip");
    let rows = [
        (None, now, 990, 10),
        (Some(UNMATCHED_RULE), now, 412, 0),
        (Some(user), now, 400, 0),
        // No rule counts by it any more.
        (Some(ip), now, 2, 0),
        (Some(UNKNOWN_NAMESPACE_RULE), now, 7, 0),
    ];
    wrote.tallies(&plane, &rows).await;
    let summary = plane.by(&ada, "GET", "stats/summary").send().await.expect(200).body;
    let lacked = json!([{ "attribute": "user", "checks": 400 }]);
    let expected = json!([
        {
            "namespace": "default", "unknown": false, "checks": 1000, "unmatched": 412,
            "missing": lacked, "conditions": 12
        },
        {
            "namespace": "default", "unknown": true, "checks": 7, "unmatched": 7,
            "missing": [], "conditions": 0
        }
    ]);
    assert_eq!(summary["unmatched"], expected);
    let web = plane.by(&ada, "GET", "stats/summary?namespace=web").send().await.expect(200).body;
    assert_eq!(web["unmatched"], json!([]));
    for path in ["stats/rules", "stats/top?by=rule"] {
        let listed = plane.by(&ada, "GET", path).send().await.expect(200).body;
        assert_eq!(listed["data"], json!([]), "{path} lists rules only");
    }
}

#[tokio::test]
async fn watchers_get_new_counts_once_and_of_their_own_tenant() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let now = minute(&plane);
    let rule = RuleId::new(now, 3);
    let wrote = Wrote::of(&ada, now);
    wrote.tallies(&plane, &[(None, now, 100, 0)]).await;
    let mut stream = plane.by(&ada, "GET", "stats/live").open().await;
    let (name, first) = event(&mut stream).await.expect("an event");
    assert_eq!((name.as_str(), &first["requests"]["allowed"]), ("tick", &json!(0)), "old news");

    let of_ceiling = (Some(TENANT_RATE_RULE), now, 0, 99);
    wrote.tallies(&plane, &[(None, now, 105, 2), (Some(rule), now, 4, 2), of_ceiling]).await;
    wrote.subjects(&plane, rule, Timestamp::from_millis(plane.now_ms())).await;
    Wrote::of(&eve, now.plus_ms(1)).tallies(&plane, &[(None, now, 1_000, 0)]).await;
    let (mut allowed, mut denied, mut of_rule, mut entries) = (0, 0, 0, 0);
    for _ in 0..4 {
        let (_, tick) = event(&mut stream).await.expect("an event");
        allowed += tick["requests"]["allowed"].as_u64().expect("a count");
        denied += tick["requests"]["denied"].as_u64().expect("a count");
        of_rule += tick["rules"][0]["counts"]["allowed"].as_u64().unwrap_or(0);
        entries += tick["denials"].as_array().expect("a list").len();
    }
    assert_eq!((allowed, denied, of_rule, entries), (5, 2, 4, 3));

    plane.stop();
    while let Some((name, _)) = event(&mut stream).await {
        assert!(["tick", "end"].contains(&name.as_str()));
    }
}

#[tokio::test]
async fn streams_of_removed_members_and_revoked_keys_end_with_the_next_turn() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let invite = json!({ "email": "eve@example.com", "role": "viewer" });
    let token = plane.by(&ada, "POST", "invitations").json(&invite).send().await.text("/token");
    let body = json!({ "token": token });
    let accept = plane.ask("POST", "/v1/invitations/accept").bearer(&eve.token).json(&body);
    accept.send().await.expect(200);
    let key = plane.key(&ada, &["read"]).await;
    let path = format!("/v1/tenants/{}/stats/live", ada.tenant);
    let mut of_eve = plane.ask("GET", &path).bearer(&eve.token).open().await;
    let mut of_key = plane.ask("GET", &path).bearer(&key).open().await;
    let mut of_ada = plane.by(&ada, "GET", "stats/live").open().await;
    for stream in [&mut of_eve, &mut of_key, &mut of_ada] {
        assert_eq!(event(stream).await.expect("an event").0, "tick");
    }
    let member = format!("members/{}", eve.user);
    plane.by(&ada, "DELETE", &member).send().await.expect(204);
    let keys = plane.by(&ada, "GET", "keys").send().await.expect(200);
    let path = format!("keys/{}", keys.text("/data/0/id"));
    plane.by(&ada, "DELETE", &path).send().await.expect(204);
    // A turn in progress can still be read. The next one ends the streams, long before their minute is over.
    for stream in [&mut of_eve, &mut of_key] {
        let mut events = 0;
        while event(stream).await.is_some_and(|(name, _)| name == "tick") {
            events += 1;
        }
        assert!(events <= 20, "{events} ticks after the removal");
    }
    assert_eq!(event(&mut of_ada).await.expect("an event").0, "tick");
}

#[tokio::test]
async fn busiest_and_refused_are_listed_with_what_is_uncertain() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 1000 }]);
    let body = json!({ "name": "login", "count_by": ["user"], "limits": limits });
    let rule = plane.by(&ada, "POST", "rules").json(&body).send().await.expect(201).text("/id");
    let rule: RuleId = rule.parse().expect("an id");
    let now = minute(&plane);
    let wrote = Wrote::of(&ada, now);
    let of_ceiling = (Some(TENANT_RATE_RULE), now, 0, 99);
    wrote.tallies(&plane, &[(Some(rule), now, 6, 2), of_ceiling]).await;
    wrote.subjects(&plane, rule, now).await;

    let top = plane.by(&ada, "GET", "stats/top").send().await.expect(200);
    assert_eq!(top.text("/data/0/subject/user"), "u-1");
    assert_eq!(
        (top.text("/data/0/rule").as_str(), &top.body["error_at_most"]),
        ("login", &json!(1))
    );
    let entry = &top.body["data"][0];
    assert_eq!((&entry["denied"], &entry["shadow_denied"]), (&json!(3), &json!(1)));
    let top = plane.by(&ada, "GET", "stats/top?by=rule&limit=1").send().await.expect(200);
    assert_eq!(
        (&top.body["data"][0]["denied"], &top.body["data"][0]["checks"]),
        (&json!(2), &json!(8))
    );
    assert_eq!(
        (&top.body["data"][0]["subject"], &top.body["error_at_most"]),
        (&Value::Null, &json!(0))
    );

    for list in ["top", "denials"] {
        for namespace in ["default", "elsewhere"] {
            let path = format!("stats/{list}?namespace={namespace}");
            let answer = plane.by(&ada, "GET", &path).send().await.expect(200);
            let some = answer.body["data"].as_array().is_some_and(|entries| !entries.is_empty());
            assert_eq!(some, namespace == "default", "{path}");
        }
    }

    let of_customer = async |customer: &str| {
        let path = format!("stats/denials?customer={customer}");
        plane.by(&ada, "GET", &path).send().await
    };
    assert_eq!(of_customer("u-1").await.refused_field(), "customer");
    let attribute = json!({ "customer_attribute": "user" });
    plane.by(&ada, "PATCH", "").json(&attribute).send().await.expect(200);
    assert_eq!(of_customer("u%00").await.refused_field(), "customer");
    for (customer, count) in [("u-1", 3), ("u-2", 0)] {
        let found = of_customer(customer).await.expect(200);
        assert_eq!(found.body["data"].as_array().map(Vec::len), Some(count), "{customer}");
    }

    let rules = plane.by(&ada, "GET", "stats/rules").send().await.expect(200);
    assert_eq!(rules.text("/data/0/rule_id"), rule.to_string());
    let denied = rules.body["data"][0]["denied"].as_array().expect("a list");
    assert!((12..=13).contains(&denied.len()), "{}", denied.len());
    assert_eq!(denied.iter().filter_map(Value::as_u64).sum::<u64>(), 2);

    let first = plane.by(&ada, "GET", "stats/denials?limit=2").send().await.expect(200);
    assert_eq!(first.body["data"].as_array().map(Vec::len), Some(2));
    let next = format!("stats/denials?limit=2&cursor={}", first.text("/next_cursor"));
    let next = plane.by(&ada, "GET", &next).send().await.expect(200);
    assert_eq!(next.body["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&next.body["next_cursor"], &next.body["entries_per_second"]),
        (&Value::Null, &json!(10))
    );
}

#[tokio::test]
async fn steps_of_ten_seconds_and_durations_of_the_last_hours_are_answered() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let now = minute(&plane);
    let wrote = Wrote::of(&ada, now);
    let rule_id = RuleId::from_u128(5);
    let step = |rule_id: Option<RuleId>, back: i64, allowed: u64| weir_store::StepRow {
        tenant_id: wrote.tenant,
        rule_id,
        at: now.plus_ms(-back * 10_000),
        namespace: "default".to_owned(),
        counts: TallyCounts { allowed, ..TallyCounts::default() },
        latencies: rule_id
            .is_none()
            .then(|| weir_domain::latency::Latencies::from_counts([0, 0, 9, 1])),
    };
    let rows = [step(None, 1, 10), step(None, 2, 20), step(Some(rule_id), 1, 7)];
    let mut tx =
        plane.database.gate.begin("tests", Scope::Gate(wrote.flush.gate_id)).await.expect("tx");
    tx.tallies().report(&wrote.flush).await.expect("report");
    tx.tallies().write_steps(&wrote.flush, &rows).await.expect("write");
    tx.commit().await.expect("commit");
    let get = |filter: &str| plane.by(&ada, "GET", &format!("stats/series?{filter}")).send();

    let series = get("step_s=10").await.expect(200).body;
    let total = |series: &Value| {
        let allowed = series["allowed"].as_array().expect("a list");
        allowed.iter().filter_map(Value::as_u64).sum::<u64>()
    };
    assert_eq!((total(&series), &series["step_s"]), (30, &json!(10)));
    let p50 = series["latency"]["p50_us"].as_array().expect("a list");
    let known: Vec<_> = p50.iter().filter_map(Value::as_u64).collect();
    assert_eq!(known.len(), 2, "steps without checks have no duration");
    assert!(known.iter().all(|us| (71..=100).contains(us)), "{known:?}");
    let of_rule = get(&format!("step_s=30&rule_id={rule_id}")).await.expect(200).body;
    assert_eq!((total(&of_rule), &of_rule["latency"]), (7, &Value::Null));
    let minutes = get("step_s=60").await.expect(200).body;
    assert!(minutes["latency"]["p99_us"].as_array().expect("a list").iter().any(Value::is_u64));
    let day = weir_wire::time::DateTime(now.plus_ms(-24 * 3_600_000)).text();
    assert_eq!(get(&format!("from={day}")).await.expect(200).body["latency"], Value::Null);
    assert_eq!(get(&format!("from={day}&step_s=10")).await.refused_field(), "step_s");
}
