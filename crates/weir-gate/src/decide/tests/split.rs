//! Checks of a namespace whose counters are spread by `user`, with a leased rule for all users.

use serde_json::{Value, json};
use weir_domain::request::{Operation, Request, RequestDraft};
use weir_domain::spread::{SpreadBy, SpreadKey};
use weir_redis::placement::Bucket;
use weir_wire::check::{CheckAnswer, Degraded};

use super::super::decide;
use super::fixture::{Fixture, window};
use crate::memory::lease_keeper;

const YEAR_MS: u64 = 31_622_400_000;

/// A rule for all users together.
fn all(limit: u64) -> Value {
    json!({
        "name": "all", "count_by": [], "consistency": "leased",
        "limits": [{ "algorithm": "fixed_window", "limit": limit, "window_ms": YEAR_MS }],
    })
}

/// Decides a request for each of these users, one after another.
async fn each(fixture: &Fixture, operation: Operation, users: &[&str]) -> Vec<CheckAnswer> {
    let mut answers = Vec::new();
    for request in fixture.requests(operation, users) {
        answers.push(one(fixture, request).await);
    }
    answers
}

async fn one(fixture: &Fixture, request: Request) -> CheckAnswer {
    let mut answers =
        decide(&fixture.state, &fixture.caller, &[request]).await.expect("few limits");
    answers.remove(0).expect("no other request had the key")
}

fn allowed(answers: &[CheckAnswer]) -> Vec<bool> {
    answers.iter().map(|answer| answer.allowed).collect()
}

/// The remaining units of the rule of each user, and of the rule of all.
async fn left(fixture: &Fixture, user: &str) -> [Option<u64>; 2] {
    let answer = each(fixture, Operation::Inspect, &[user]).await.remove(0);
    [0, 1].map(|at| answer.limits[at].remaining)
}

#[tokio::test]
async fn check_that_a_user_is_denied_takes_no_units_of_the_leased_rule() {
    let fixture = Fixture::spread(&[window("allow"), all(1_000)]).await;
    let answers = each(&fixture, Operation::Consume, &["ada"; 8]).await;
    assert_eq!(allowed(&answers), [[true; 5].as_slice(), &[false; 3]].concat());
    assert_eq!(answers[7].denied_by.len(), 1);
    assert_eq!(&*answers[7].denied_by[0], "rule");
    assert_eq!(answers[7].limits[1].remaining, answers[4].limits[1].remaining);
    assert_eq!(allowed(&each(&fixture, Operation::Consume, &["bob"]).await), [true]);
    lease_keeper::settle_all(&fixture.state).await;
    assert_eq!(left(&fixture, "ada").await, [Some(0), Some(994)]);
    assert_eq!(left(&fixture, "bob").await, [Some(4), Some(994)]);
}

#[tokio::test]
async fn check_that_the_leased_rule_denies_leaves_the_counters_of_the_user() {
    let fixture = Fixture::spread(&[window("allow"), all(2)]).await;
    let answers = each(&fixture, Operation::Consume, &["ada", "bob", "cid"]).await;
    assert_eq!(allowed(&answers), [true, true, false]);
    assert_eq!(&*answers[2].denied_by[0], "all");
    assert_eq!(answers[2].limits[0].remaining, Some(5));
    assert_eq!(left(&fixture, "cid").await, [Some(5), Some(0)]);
}

#[tokio::test]
async fn leased_units_cost_a_check_no_call_of_redis() {
    let fixture = Fixture::spread(&[window("allow"), all(100_000)]).await;
    let mut sent = 0;
    loop {
        let users = (sent..sent + 10).map(|number| format!("user-{number}"));
        let request = |user: String| fixture.request(Operation::Consume, Some(&user), 1);
        let requests: Vec<_> = users.map(request).collect();
        let before = fixture.redis_calls();
        decide(&fixture.state, &fixture.caller, &requests).await.expect("few limits");
        let calls = fixture.redis_calls() - before;
        assert!((1..=3).contains(&calls), "{calls}");
        sent += 10;
        if calls == 1 {
            break;
        }
        assert!(sent < 5_000, "the lease never has enough units for a batch");
    }
    lease_keeper::settle_all(&fixture.state).await;
    assert_eq!(left(&fixture, "user-1").await, [Some(4), Some(100_000 - sent)]);
}

#[tokio::test]
async fn refunds_records_and_peeks_are_of_both_rules() {
    let fixture = Fixture::spread(&[window("allow"), all(1_000)]).await;
    each(&fixture, Operation::Consume, &["ada"; 3]).await;
    each(&fixture, Operation::Refund, &["ada"; 2]).await;
    lease_keeper::settle_all(&fixture.state).await;
    assert_eq!(left(&fixture, "ada").await, [Some(4), Some(999)]);
    each(&fixture, Operation::Record, &["ada"]).await;
    assert_eq!(left(&fixture, "ada").await, [Some(3), Some(998)]);
    let peeked = each(&fixture, Operation::Peek, &["ada"]).await.remove(0);
    assert_eq!([peeked.limits[0].remaining, peeked.limits[1].remaining], [Some(2), Some(997)]);
    assert_eq!(left(&fixture, "ada").await, [Some(3), Some(998)]);
}

#[tokio::test]
async fn repeat_with_an_idempotency_key_gets_the_first_answer_and_takes_nothing() {
    let fixture = Fixture::spread(&[window("allow"), all(1_000)]).await;
    repeat_checks_of(&fixture, "ada").await;
    lease_keeper::settle_all(&fixture.state).await;
    assert_eq!(left(&fixture, "ada").await, [Some(1), Some(996)]);
}

/// The records of both parts are beside each other.
#[tokio::test]
async fn repeat_of_a_user_in_the_bucket_of_the_common_counters_takes_nothing() {
    let fixture = Fixture::spread(&[window("allow"), all(1_000)]).await;
    let by = SpreadBy::parse(vec!["user".to_owned()]).expect("an attribute");
    let bucket = |key| Bucket::of(fixture.caller.tenant, "default", key);
    let is_common =
        |user: &String| bucket(by.key(&["user".to_owned()], &[user])) == bucket(SpreadKey::NONE);
    let user = (0..10_000).map(|nth| format!("u-{nth}")).find(is_common).expect("some user");
    repeat_checks_of(&fixture, &user).await;
    lease_keeper::settle_all(&fixture.state).await;
    assert_eq!(left(&fixture, &user).await, [Some(1), Some(996)]);
}

/// The units of the leased rule that the first attempt took went back, so its repeat takes it again. The shadow rule keeps its charge.
#[tokio::test]
async fn repeat_of_a_check_that_the_user_was_denied_takes_of_both_rules() {
    let mut shadow = all(1_000);
    shadow["mode"] = json!("shadow");
    shadow["name"] = json!("shadow");
    let fixture = Fixture::spread(&[window("allow"), all(1_000), shadow]).await;
    each(&fixture, Operation::Consume, &["ada"; 5]).await;
    for _ in 0..2 {
        let denied = one(&fixture, with_key("ada", "key", 2)).await;
        assert!(!denied.allowed && &*denied.denied_by[0] == "rule", "{denied:?}");
    }
    each(&fixture, Operation::Refund, &["ada"; 2]).await;
    let admitted = one(&fixture, with_key("ada", "key", 2)).await;
    assert!(admitted.allowed, "{admitted:?}");
    assert_eq!(one(&fixture, with_key("ada", "key", 2)).await, admitted);
    lease_keeper::settle_all(&fixture.state).await;
    assert_eq!(left(&fixture, "ada").await, [Some(0), Some(995)]);
    let inspected = each(&fixture, Operation::Inspect, &["ada"]).await.remove(0);
    assert_eq!(inspected.limits[2].remaining, Some(993), "shadow rules take nothing back");
}

fn with_key(user: &str, key: &str, cost: u64) -> Request {
    let attributes = [("user".to_owned(), user.to_owned())].into();
    let (namespace, operation) = ("default".to_owned(), Operation::Consume);
    let idempotency_key = Some(key.to_owned());
    let draft = RequestDraft { namespace, attributes, cost, operation, idempotency_key };
    Request::parse(draft).expect("valid")
}

async fn repeat_checks_of(fixture: &Fixture, user: &str) {
    let request = |key: &str, cost| with_key(user, key, cost);
    let first = one(fixture, request("first", 4)).await;
    let again = one(fixture, request("first", 4)).await;
    assert_eq!((first.allowed, &first.limits), (true, &again.limits));
    for _ in 0..2 {
        let denied = one(fixture, request("denied", 2)).await;
        assert!(!denied.allowed && &*denied.denied_by[0] == "rule", "{denied:?}");
    }
    let reused = decide(&fixture.state, &fixture.caller, &[request("first", 3)]).await;
    assert!(reused.expect("few limits")[0].is_err());
}

#[tokio::test]
async fn check_without_redis_is_answered_by_the_rules_as_a_whole() {
    for (policy, degraded) in [("allow", Degraded::Allow), ("deny", Degraded::Deny)] {
        let fixture = Fixture::spread_and_away(&[window(policy), all(1_000)]);
        let answer = each(&fixture, Operation::Consume, &["ada"]).await.remove(0);
        assert_eq!((answer.degraded, answer.limits.len()), (Some(degraded), 2));
    }
}
