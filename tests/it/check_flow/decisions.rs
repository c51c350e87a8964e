//! Peeks, refunds, batches, actions, shadow rules, blocks, and several limits at once.

use std::time::Instant;

use serde_json::json;

use super::{hourly, of, with};
use crate::harness::{Tenant, millis, seconds, shared, until};

#[tokio::test]
async fn peek_answers_as_consume_would_and_takes_nothing() {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(&hourly("per-user", 2)).await;
    let peek = with(of("u-1"), "mode", "peek");
    for gate in [0, 1, 0, 1] {
        let reply = tenant.check(gate, &peek).await.expect(200);
        assert_eq!(reply.number("/remaining"), 1, "what would be left after it");
    }
    for remaining in [1, 0] {
        let reply = tenant.check(0, &of("u-1")).await.expect(200);
        assert_eq!(reply.number("/remaining"), remaining);
    }
    let reply = tenant.check(1, &peek).await.expect(429);
    assert_eq!(reply.body["denied_by"], json!(["per-user"]));
}

#[tokio::test]
async fn refund_gives_back_never_above_full_and_says_what_it_left_alone() {
    let tenant = Tenant::sign_up(shared().await).await;
    let limits = json!([
        { "algorithm": "fixed_window", "limit": 5, "window_ms": 31_622_400_000_u64 },
        { "algorithm": "token_bucket", "capacity": 5, "refill_tokens": 1, "refill_interval_ms": 31_622_400_000_u64 },
        { "algorithm": "leaky_bucket", "capacity": 5, "drain_units": 1, "drain_interval_ms": 31_622_400_000_u64 },
    ]);
    tenant.rule(&json!({ "name": "mixed", "count_by": ["user"], "limits": limits })).await;
    tenant.check(0, &with(of("u-1"), "cost", 4)).await.expect(200);

    let refund = with(of("u-1"), "cost", 3);
    let reply = tenant.ask(&tenant.stack.gates[1], "/refund", &refund).await.expect(200);
    let refunded: Vec<_> = reply.body["limits"].as_array().expect("a list").iter().collect();
    let flags: Vec<_> = refunded.iter().map(|answer| answer["refunded"].clone()).collect();
    assert_eq!(flags, [json!(true), json!(true), json!(false)], "{}", reply.body);

    let left = |body: &serde_json::Value| {
        let limits = body["limits"].as_array().expect("a list").clone();
        limits.iter().map(|limit| limit["remaining"].as_u64().expect("known")).collect::<Vec<_>>()
    };
    // A refund of any size cannot exceed the limit.
    let much = with(of("u-1"), "cost", 1_000_000);
    let reply = tenant.ask(&tenant.stack.gates[0], "/refund", &much).await.expect(200);
    assert_eq!(reply.status, 200);
    let reply = tenant.check(0, &with(of("u-1"), "mode", "peek")).await.expect(200);
    assert_eq!(left(&reply.body), [4, 4, 0]);
}

#[tokio::test]
async fn batch_is_decided_in_order_and_each_check_for_itself() {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(&hourly("per-user", 2)).await;
    let checks = json!({ "checks": [of("a"), of("a"), of("a"), of("b"), {}] });
    let gate = &tenant.stack.gates[0];
    let reply = tenant.ask(gate, "/check/batch", &checks).await.expect(200);
    let results = reply.body["results"].as_array().expect("a list");
    let seen: Vec<_> = results
        .iter()
        .map(|result| (result["allowed"].clone(), result["remaining"].clone()))
        .collect();
    let expected = [
        (json!(true), json!(1)),
        (json!(true), json!(0)),
        (json!(false), json!(0)),
        (json!(true), json!(1)),
        (json!(true), json!(null)),
    ];
    assert_eq!(seen, expected);
    for gate in &tenant.stack.gates {
        let peek = with(of("a"), "mode", "peek");
        tenant.ask(gate, "/check", &peek).await.expect(429);
    }
}

#[tokio::test]
async fn malformed_check_refuses_the_whole_batch_by_its_index_and_nothing_is_taken() {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(&hourly("per-user", 2)).await;
    let checks = json!({ "checks": [of("a"), of("a"), with(of("a"), "cost", 0)] });
    let gate = &tenant.stack.gates[0];
    let reply = tenant.ask(gate, "/check/batch", &checks).await.expect(422);
    assert_eq!(reply.problem(), "invalid");
    assert_eq!(reply.text("/fields/0/field"), "checks[2].cost");
    let reply = tenant.check(1, &with(of("a"), "mode", "peek")).await.expect(200);
    assert_eq!(reply.number("/remaining"), 1);
}

#[tokio::test]
async fn deny_wins_over_allow_and_allow_over_limit() {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(&hourly("limited", 1)).await;
    let only = |user: &str| json!([{ "attribute": "user", "op": "prefix", "value": user }]);
    let staff = json!({ "name": "staff", "action": "allow", "match": only("staff") });
    let banned = json!({ "name": "banned", "action": "deny", "match": only("staff-banned") });
    tenant.rule(&staff).await;
    tenant.rule(&banned).await;
    for _ in 0..3 {
        let reply = tenant.check(0, &of("staff-7")).await.expect(200);
        assert_eq!(reply.body["limits"], json!([]));
    }
    let reply = tenant.check(1, &of("staff-banned")).await.expect(429);
    assert_eq!(reply.body["denied_by"], json!(["banned"]));
    assert_eq!(reply.body["retry_after_ms"], json!(null), "it never can");
    assert_eq!(reply.header("retry-after"), None);
    tenant.check(0, &of("somebody")).await.expect(200);
    tenant.check(1, &of("somebody")).await.expect(429);
}

#[tokio::test]
async fn shadow_rule_is_listed_last_and_decides_nothing() {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(&with(hourly("a-shadow", 1), "mode", "shadow")).await;
    tenant.rule(&hourly("enforced", 3)).await;
    tenant.rule(&with(hourly("off", 1), "mode", "off")).await;
    for (round, remaining) in [(0, 2), (1, 1), (2, 0)] {
        let reply = tenant.check(round % 2, &of("u-1")).await.expect(200);
        assert_eq!(reply.number("/remaining"), remaining);
        assert_eq!(reply.number("/limit"), 3);
        let limits = reply.body["limits"].as_array().expect("a list");
        let modes: Vec<_> = limits.iter().map(|limit| limit["mode"].clone()).collect();
        assert_eq!(modes, ["enforce", "shadow"]);
        assert_eq!(limits[1]["allowed"], round == 0);
        assert_eq!(reply.body["denied_by"], json!([]));
    }
    let reply = tenant.check(0, &of("u-1")).await.expect(429);
    assert_eq!(reply.body["denied_by"], json!(["enforced"]));
}

#[tokio::test]
async fn several_limits_admit_together_or_take_nothing() {
    let tenant = Tenant::sign_up(shared().await).await;
    let log = |limit: u64, window_ms: u64| json!({ "algorithm": "sliding_window_log", "limit": limit, "window_ms": window_ms });
    let limits = json!([log(2, 3_000_000), log(10, 6_000_000)]);
    tenant.rule(&json!({ "name": "both", "count_by": ["user"], "limits": limits })).await;
    for _ in 0..2 {
        tenant.check(0, &of("u-1")).await.expect(200);
    }
    for gate in [0, 1, 0] {
        let reply = tenant.check(gate, &of("u-1")).await.expect(429);
        assert_eq!(reply.body["limits"][1]["remaining"], 8, "a refusal takes nothing");
        assert_eq!(reply.body["limits"][1]["allowed"], true);
    }
    let reply = tenant.check(0, &with(of("u-1"), "cost", 11)).await.expect(429);
    assert_eq!(reply.body["retry_after_ms"], json!(null), "more than the limit never passes");
}

#[tokio::test]
async fn block_refuses_until_it_ends_and_asking_meanwhile_does_not_lengthen_it() {
    let tenant = Tenant::sign_up(shared().await).await;
    let rule = json!({ "name": "blocked", "count_by": ["user"], "block_ms": 1_500,
        "limits": [{ "algorithm": "sliding_window_log", "limit": 1, "window_ms": 200 }] });
    tenant.rule(&rule).await;
    // On a slow machine the window can pass between two checks, so this repeats until one is refused.
    let (mut first, mut asked) = (0, Instant::now());
    until(seconds(10), "a check is refused", async || {
        asked = Instant::now();
        let reply = tenant.check(0, &of("u-1")).await;
        first = reply.body["retry_after_ms"].as_u64().unwrap_or(0);
        reply.status == 429
    })
    .await;
    assert!((1..=1_500).contains(&first), "{first}");
    let mut last = first;
    until(seconds(10), "the block ends", async || {
        let reply = tenant.check(1, &of("u-1")).await;
        if reply.status == 429 {
            let left = reply.number("/retry_after_ms");
            assert!(left <= last, "the block became longer: {last} then {left}");
            last = left;
        }
        reply.status == 200
    })
    .await;
    let blocked = asked.elapsed();
    assert!(blocked >= millis(first - 1), "{blocked:?} of {first} ms, rounded up");
}
