//! Round trips to Postgres of whole requests, counted by a relay: what a distant database costs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use weir_store::test_support::relayed_database;

use super::support::{Member, Plane};

/// The most round trips of a request that reads.
const READ_MAX: u64 = 4;
/// The most round trips of a request that changes something.
const CHANGE_MAX: u64 = 6;

/// A request by its method, path and body.
type Request<'a> = (&'a str, &'a str, Value);

fn limit(name: &str) -> Value {
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 1000 }]);
    json!({ "name": name, "count_by": ["user"], "limits": limits })
}

/// Requests that read, and requests that change something. The n-th turn names its objects anew.
fn requests(turn: usize, rule: &str) -> (Vec<Request<'static>>, Vec<Request<'static>>) {
    let subject = json!({ "rule_id": rule, "subject": { "user": format!("u-{turn}") },
        "limits": limit("")["limits"] });
    let webhook = json!({ "name": format!("hook {turn}"), "url": "https://hooks.test/" });
    let reads = vec!["rules", "overrides", "keys", "alerts", "webhooks", "members", "profiles"];
    let changes = vec![
        ("POST", "rules", limit(&format!("rule-{turn}"))),
        ("POST", "keys", json!({ "name": format!("key {turn}"), "scopes": ["check"] })),
        ("POST", "overrides", subject),
        ("POST", "webhooks", webhook),
    ];
    (reads.into_iter().map(|path| ("GET", path, Value::Null)).collect(), changes)
}

async fn counted(
    plane: &Plane,
    relay: &weir_local::Relay,
    token: &str,
    (tenant, request): (&str, &Request<'_>),
) -> u64 {
    let (method, path, body) = request;
    let ask = plane.ask(method, &format!("/v1/tenants/{tenant}/{path}")).bearer(token);
    let once = body["name"].as_str().or(body["subject"]["user"].as_str());
    let ask = match once {
        Some(once) => ask.header("idempotency-key", once).json(body),
        None => ask,
    };
    plane.background_idle().await;
    plane.database.app.idle().await;
    let before = relay.round_trips();
    let answer = ask.send().await;
    let trips = relay.round_trips() - before;
    assert!(answer.status.is_success(), "{method} {path}: {} {}", answer.status, answer.body);
    trips
}

#[tokio::test]
async fn requests_cost_few_round_trips() {
    let (database, relay) = relayed_database().await;
    let plane = Plane::on(Arc::new(database));
    let member: Member = plane.member("a@example.com").await;
    let rule = plane.by(&member, "POST", "rules").json(&limit("first")).send().await.expect(201);
    let key = plane.key(&member, &["admin"]).await;
    for (at, caller) in [&member.token, &key].into_iter().enumerate() {
        let mut fewest = BTreeMap::new();
        // A connection prepares its statements.
        for turn in 3 * at..3 * (at + 1) {
            let (reads, changes) = requests(turn, &rule.text("/id"));
            for (requests, most) in [(reads, READ_MAX), (changes, CHANGE_MAX)] {
                for request in &requests {
                    let trips = counted(&plane, &relay, caller, (&member.tenant, request)).await;
                    let of_path = fewest.entry((request.0, request.1)).or_insert((trips, most));
                    of_path.0 = of_path.0.min(trips);
                }
            }
        }
        // The keys of a page, then their makers and their requests; and an override needs its rule and the former override.
        for one_more in [("GET", "keys"), ("POST", "overrides")] {
            fewest.get_mut(&one_more).expect("sent").1 += 1;
        }
        let few = fewest.values().all(|(trips, most)| (1..=*most).contains(trips));
        assert!(few, "{fewest:?}");
    }
}
