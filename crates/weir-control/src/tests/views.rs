//! The views of lists that the members of a tenant share.

use serde_json::{Value, json};

use super::support::{Member, Plane};

fn view(list: &str, name: &str) -> Value {
    json!({ "list": list, "name": name, "query": { "mode": "shadow", "sort": "-denied" } })
}

async fn put(
    plane: &Plane,
    member: &Member,
    etag: &str,
    views: &[Value],
) -> super::support::Answer {
    let ask = plane.by(member, "PUT", "views").header("if-match", etag);
    ask.json(&json!({ "views": views })).send().await
}

#[tokio::test]
async fn views_are_shared_in_a_tenant_and_replaced_by_revision() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let none = plane.by(&ada, "GET", "views").send().await.expect(200);
    assert_eq!(none.body, json!({ "views": [], "revision": 0 }));
    assert_eq!(none.headers["etag"], "\"0\"");
    let views = [view("rules", "Shadow, by denials"), view("overrides", "Shadow, by denials")];
    let written = put(&plane, &ada, "\"0\"", &views).await.expect(200);
    assert_eq!(written.body, json!({ "views": views, "revision": 1 }));
    put(&plane, &ada, "\"0\"", &[]).await.problem(412, "stale");
    let read = plane.by(&ada, "GET", "views").send().await.expect(200);
    assert_eq!((&read.body, &read.headers["etag"]), (&written.body, &written.headers["etag"]));
    let bob = plane.member("bob@example.com").await;
    let other = plane.by(&bob, "GET", "views").send().await.expect(200);
    assert_eq!(other.body["views"], json!([]), "another tenant");
    put(&plane, &ada, "\"1\"", &[]).await.expect(200);
    let audit = plane.by(&ada, "GET", "audit?action=views.update").send().await.expect(200);
    let newest = &audit.body["data"][0];
    assert_eq!(newest["before"]["views"][0], "rules: Shadow, by denials");
    assert_eq!(newest["after"]["views"], json!([]));
}

#[tokio::test]
async fn views_are_bounded() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let many: Vec<_> = (0..101).map(|at| view("rules", &format!("view {at}"))).collect();
    assert_eq!(put(&plane, &ada, "\"0\"", &many).await.refused_field(), "views");
    let long = json!({ "list": "rules", "name": "a", "query": { "q": "x".repeat(2_000) } });
    for (wrong, field) in [
        (view("Rules", "a"), "views[0].list"),
        (view("rules", ""), "views[0].name"),
        (view("rules", " a"), "views[0].name"),
        (view("rules", &"x".repeat(65)), "views[0].name"),
        (long, "views[0].query"),
    ] {
        assert_eq!(put(&plane, &ada, "\"0\"", &[wrong]).await.refused_field(), field);
    }
    let twice = [view("rules", "a"), view("rules", "a")];
    assert_eq!(put(&plane, &ada, "\"0\"", &twice).await.refused_field(), "views[1].name");
    put(&plane, &ada, "\"0\"", &many[..100]).await.expect(200);
}
