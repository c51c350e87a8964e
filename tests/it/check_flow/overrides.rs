//! Overrides: other limits for one subject or for any, with an expiry; exemptions and refusals.

use reqwest::Method;
use serde_json::{Value, json};

use super::{hourly, of};
use crate::harness::{Rule, Tenant, seconds, shared, until};

fn limits(limit: u64) -> Value {
    json!([{ "algorithm": "sliding_window_log", "limit": limit, "window_ms": 3_600_000 }])
}

fn for_user(rule: &Rule, user: &str, (field, value): (&str, Value)) -> Value {
    json!({ "rule_id": rule.id, "subject": { "user": user }, field: value })
}

#[tokio::test]
async fn exact_subject_wins_over_the_star_and_the_star_over_the_rule() {
    let tenant = Tenant::sign_up(shared().await).await;
    let rule = tenant.rule(&hourly("per-user", 3)).await;
    let reply = tenant.check(0, &of("vip")).await.expect(200);
    assert_eq!(reply.number("/limit"), 3);
    tenant.override_rule(&for_user(&rule, "*", ("limits", limits(7)))).await;
    tenant.override_rule(&for_user(&rule, "vip", ("limits", limits(50)))).await;
    for gate in [0, 1] {
        let vip = tenant.check(gate, &of("vip")).await.expect(200);
        assert_eq!(vip.number("/limit"), 50);
        let any = tenant.check(gate, &of("anybody")).await.expect(200);
        assert_eq!(any.number("/limit"), 7);
    }
    let reply = tenant.check(0, &of("vip")).await.expect(200);
    assert_eq!(reply.number("/remaining"), 46, "the counter lives on");
}

#[tokio::test]
async fn override_lets_a_subject_through_or_refuses_it() {
    let tenant = Tenant::sign_up(shared().await).await;
    let rule = tenant.rule(&hourly("per-user", 1)).await;
    tenant.override_rule(&for_user(&rule, "friend", ("action", json!("allow")))).await;
    let banned = tenant.override_rule(&for_user(&rule, "banned", ("action", json!("deny")))).await;
    for gate in [0, 1, 0] {
        tenant.check(gate, &of("friend")).await.expect(200);
        let reply = tenant.check(gate, &of("banned")).await.expect(429);
        assert_eq!(reply.body["denied_by"], json!(["per-user"]));
        assert_eq!(reply.body["retry_after_ms"], json!(null));
    }
    let path = format!("/overrides/{}", banned.text("/id"));
    let etag = banned.header("etag").map(str::to_owned);
    let gone = tenant.admin_if_match(Method::DELETE, &path, etag.as_deref(), &Value::Null).await;
    assert_eq!(gone.status, 204, "{}", gone.body);
    until(seconds(5), "the banned one is limited as anybody", async || {
        let reply = tenant.check(0, &of("banned")).await;
        reply.status == 200
    })
    .await;
    tenant.check(1, &of("banned")).await;
}

#[tokio::test]
async fn override_that_expired_is_over_without_anybody_doing_anything() {
    let tenant = Tenant::sign_up(shared().await).await;
    let rule = tenant.rule(&hourly("per-user", 3)).await;
    let expires_at = tenant.stack.postgres_time("2 seconds");
    let mut body = for_user(&rule, "guest", ("limits", limits(40)));
    body["expires_at"] = json!(expires_at);
    tenant.override_rule(&body).await;
    let peek = json!({ "attributes": { "user": "guest" }, "mode": "peek" });
    for gate in [0, 1] {
        until(seconds(10), "the rule's own limit holds again", async || {
            let reply = tenant.check(gate, &peek).await.expect(200);
            let limit = reply.number("/limit");
            assert!(limit == 40 || limit == 3, "{limit}");
            limit == 3
        })
        .await;
    }
}

#[tokio::test]
async fn many_overrides_are_written_at_once_or_not_at_all() {
    let tenant = Tenant::sign_up(shared().await).await;
    let rule = tenant.rule(&hourly("per-user", 3)).await;
    let many: Vec<Value> =
        (0..500).map(|at| for_user(&rule, &format!("u-{at}"), ("limits", limits(9)))).collect();
    let mut one_wrong = many.clone();
    one_wrong[499]["limits"][0]["limit"] = json!(0);
    let body = json!({ "overrides": one_wrong });
    let refused = tenant.admin(Method::POST, "/overrides/bulk", &body).await.expect(422);
    assert!(refused.text("/fields/0/field").starts_with("overrides[499]"), "{}", refused.body);

    let written =
        tenant.admin(Method::POST, "/overrides/bulk", &json!({ "overrides": many })).await;
    let written = written.expect(200);
    assert_eq!(written.number("/created"), 500);
    tenant.settled(written.number("/rulebook_version")).await;
    for user in ["u-0", "u-499"] {
        assert_eq!(tenant.check(1, &of(user)).await.number("/limit"), 9);
    }
}
