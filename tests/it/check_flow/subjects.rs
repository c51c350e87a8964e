//! A subject can be any text that a caller sends, and different subjects never share a counter.

use serde_json::json;

use super::{hourly, of, with};
use crate::harness::{Tenant, shared};

const ODD: [&str; 22] = [
    "plain",
    "a:b",
    "a:",
    ":b",
    "{a}",
    "{",
    "}",
    "*",
    "**",
    "?",
    "[a]",
    "a b",
    " a",
    "a ",
    "",
    "'; DROP TABLE rules; --",
    "]] .. redis.call('FLUSHALL')",
    "*1 $8 FLUSHALL",
    "Zoë",
    "Zoe\u{308}",
    "😀",
    "\u{202e}abc",
];

/// S-07, S-59.
#[tokio::test]
async fn odd_subjects_of_two_tenants_with_the_same_names_never_meet() {
    let stack = shared().await;
    let (one, other) = (Tenant::sign_up(stack).await, Tenant::sign_up(stack).await);
    for tenant in [&one, &other] {
        tenant.rule(&hourly("per-user", 1)).await;
    }
    for subject in ODD {
        let reply = one.check(0, &of(subject)).await;
        assert_eq!(reply.status, 200, "{subject:?} was counted as another: {}", reply.body);
    }
    for subject in ODD {
        assert_eq!(one.check(1, &of(subject)).await.status, 429, "{subject:?} is used up");
        let reply = other.check(1, &of(subject)).await;
        assert_eq!(reply.status, 200, "{subject:?} met another tenant's: {}", reply.body);
    }
}

#[tokio::test]
async fn subjects_of_two_attributes_do_not_run_into_each_other() {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(&with(hourly("pair", 1), "count_by", json!(["a", "b"]))).await;
    let pair = |a: &str, b: &str| json!({ "attributes": { "a": a, "b": b } });
    for (a, b) in [("x", "yz"), ("xy", "z"), ("", "xyz"), ("xyz", ""), ("x:y", "z"), ("x", "y:z")] {
        assert_eq!(tenant.check(0, &pair(a, b)).await.status, 200, "{a:?} {b:?}");
        assert_eq!(tenant.check(1, &pair(a, b)).await.status, 429, "{a:?} {b:?}");
    }
}

/// the rule of docs/rules.md for sign-ins, attacked with six spellings of one account.
#[tokio::test]
async fn another_spelling_of_an_account_is_no_new_attempt() {
    const SPELLINGS: [&str; 6] = [
        "alice@example.com",
        "Alice@Example.com",
        "ALICE@EXAMPLE.COM",
        " alice@example.com",
        "alice@example.com  ",
        "\u{ff41}lice@example.com",
    ];
    let tenant = Tenant::sign_up(shared().await).await;
    let per_account = json!([{ "attribute": "user", "as": "email" }]);
    tenant.rule(&with(hourly("sign-ins-per-account", 5), "count_by", per_account)).await;
    let mut admitted = 0;
    for attempt in 0..30 {
        let reply = tenant.check(attempt % 2, &of(SPELLINGS[attempt % SPELLINGS.len()])).await;
        admitted += usize::from(reply.status == 200);
    }
    assert_eq!(admitted, 5);
    tenant.check(0, &of("bob@example.com")).await.expect(200);
}

#[tokio::test]
async fn control_characters_are_refused_and_take_nothing() {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(&with(hourly("all", 1), "count_by", json!([]))).await;
    for value in ["a\nb", "a\rb", "a\0b", "\u{7f}", "\t", "\u{85}"] {
        let reply = tenant.check(0, &of(value)).await.expect(422);
        assert_eq!(reply.problem(), "invalid");
        assert_eq!(reply.text("/fields/0/field"), "attributes.user");
    }
    tenant.check(0, &of("a")).await.expect(200);
}

/// S-59: the name of a key never contains text of a caller unchanged.
#[tokio::test]
async fn keys_in_redis_hold_no_subject_and_are_short() {
    let stack = shared().await;
    let tenant = Tenant::sign_up(stack).await;
    tenant.rule(&hourly("per-user", 1)).await;
    let long = "canary-".repeat(73);
    tenant.check(0, &of(&long)).await.expect(200);
    let found = stack.redis.command("SCAN 0 MATCH *canary* COUNT 1000000").expect("it runs");
    assert!(!found.contains("canary"), "{found}");
}
