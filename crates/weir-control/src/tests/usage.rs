//! The usage of tenants as operators read it.

use serde_json::{Value, json};

use super::support::Plane;

#[tokio::test]
async fn operators_read_usage_by_day_and_tenant_as_json_and_as_csv() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let op = plane.operator("op@example.com").await;
    plane.by(&ada, "PATCH", "").json(&json!({ "name": "=Acme, \"Inc\"" })).send().await.expect(200);
    let tenant = ada.tenant.parse().expect("an id");
    let sample = weir_store::RedisUsage { tenant_id: tenant, subjects: 3, bytes: 700 };
    let mut tx =
        plane.database.app.begin("tests", weir_store::Scope::Service).await.expect("begin");
    tx.usage().note(&[sample]).await.expect("written");
    tx.commit().await.expect("commit");

    let read = |query: &str| {
        let path = format!("/v1/operator/usage{query}");
        plane.ask("GET", &path).bearer(&op.token).send()
    };
    let only = read(&format!("?tenant={}", ada.tenant)).await.expect(200);
    let rows = only.body["data"].as_array().expect("a list");
    assert_eq!(rows.len(), 1, "{}", only.body);
    assert_eq!((&rows[0]["subjects"], &rows[0]["redis_bytes"]), (&json!(3), &json!(700)));
    assert_eq!(
        (&rows[0]["checks"], rows[0]["tenant_name"].as_str()),
        (&json!(0), Some("=Acme, \"Inc\""))
    );
    let day = rows[0]["day"].as_str().expect("a day").to_owned();

    // The pages contain each row once.
    let all = read("").await.expect(200);
    let count = all.body["data"].as_array().expect("a list").len();
    let (mut seen, mut next) = (0, Some(String::new()));
    while let Some(cursor) = next {
        let page = read(&format!("?limit=1{cursor}")).await.expect(200);
        seen += page.body["data"].as_array().expect("a list").len();
        next = page.body["next_cursor"].as_str().map(|cursor| format!("&cursor={cursor}"));
    }
    assert_eq!(seen, count);

    let csv = read(&format!("?format=csv&from={day}&to={day}&tenant={}", ada.tenant)).await;
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    let csv = csv.expect(200);
    let lines: Vec<_> = csv.body.as_str().expect("text").lines().collect();
    assert_eq!(lines[0], "day,tenant_id,tenant_name,checks,subjects,redis_bytes,postgres_rows");
    let start = format!("{day},{},\"'=Acme, \"\"Inc\"\"\",0,3,700,", ada.tenant);
    assert!(lines[1].starts_with(&start), "{}", lines[1]);

    for (query, field) in [
        ("?from=2026-1-1", "from"),
        ("?to=yesterday", "to"),
        ("?from=2020-01-01&to=2026-01-01", "from"),
        ("?from=2026-02-02&to=2026-02-01", "from"),
        ("?tenant=acme", "tenant"),
        ("?format=xml", "format"),
    ] {
        assert_eq!(read(query).await.refused_field(), field, "{query}");
    }
    let others = plane.ask("GET", "/v1/operator/usage").bearer(&ada.token).send().await;
    others.problem(404, "not_found");
    let empty = read("?from=2000-01-01&to=2000-01-02").await.expect(200);
    assert_eq!(empty.body["data"], Value::Array(Vec::new()));
}
