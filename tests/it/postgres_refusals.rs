//! Postgres answers with errors: it is read-only, a rule cannot be read, or a login has too many rights.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{
    GateSettings, Http, PATIENT_MS, Server, Stack, Tenant, metrics, print, seconds, shared,
    signing_key, until, weir,
};

fn limited_to(limit: u64) -> Value {
    json!({ "name": "per-user", "count_by": ["user"], "on_store_failure": "deny",
        "limits": [{ "algorithm": "fixed_window", "limit": limit, "window_ms": 3_600_000 }] })
}

fn of(user: &str) -> Value {
    json!({ "attributes": { "user": user } })
}

/// G-03: in the middle of a failover, or with a full disk.
#[tokio::test]
async fn read_only_postgres_is_unavailable_and_not_our_mistake() {
    let stack = Stack::start(PATIENT_MS).await;
    let tenant = Tenant::sign_up(&stack).await;
    tenant.rule(&limited_to(1000)).await;
    let sql = |text: &str| stack.postgres.psql("weir", &["-c", text]).expect("it answers");
    sql("ALTER SYSTEM SET default_transaction_read_only = on");
    sql("SELECT pg_reload_conf()");
    let mut more = limited_to(1000);
    more["name"] = json!("more");
    let write = async || tenant.admin(Method::POST, "/rules", &more).await;
    until(seconds(20), "writes are refused", async || write().await.status == 503).await;
    let refused = write().await;
    assert_eq!(refused.problem(), "unavailable");
    assert!(refused.header("retry-after").is_some());
    tenant.admin(Method::GET, "/rules", &Value::Null).await.expect(200);
    let gate = &stack.gates[0];
    until(seconds(20), "the gate says why", async || gate.log().contains("read-only")).await;
    assert!(!gate.log().contains("misused"), "{}", gate.log());
    tenant.check(0, &of("ann")).await.expect(200);
    // These are separate statements, because a transaction cannot change the setting of the server.
    let writable = "SET default_transaction_read_only = off";
    let reset = "ALTER SYSTEM RESET default_transaction_read_only";
    let reload = "SELECT pg_reload_conf()";
    let args = ["-c", writable, "-c", reset, "-c", reload];
    stack.postgres.psql("weir", &args).expect("it answers");
    until(seconds(20), "writes work again", async || write().await.status != 503).await;
    until(seconds(20), "the gate says so", async || {
        gate.log().contains("Postgres is reachable again")
    })
    .await;
    let log = gate.log();
    let reported = |line: &&str| {
        line.contains("could not load the rulebook from Postgres") && line.contains("read-only")
    };
    assert_eq!(log.lines().filter(reported).count(), 1, "{log}");
}

/// G-03: the disk of Postgres is full. The trigger raises the error that Postgres raises then.
#[tokio::test]
async fn full_disk_of_postgres_is_unavailable_and_logged_once() {
    let stack = Stack::start(PATIENT_MS).await;
    let tenant = Tenant::sign_up(&stack).await;
    tenant.rule(&limited_to(1000)).await;
    let sql = |text: &str| stack.postgres.psql("weir", &["-c", text]).expect("it answers");
    sql("CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
        END $$");
    sql("CREATE TRIGGER full_disk BEFORE INSERT ON rules EXECUTE FUNCTION full_disk()");
    let mut more = limited_to(1000);
    more["name"] = json!("more");
    let refused = tenant.admin(Method::POST, "/rules", &more).await.expect(503);
    assert_eq!(refused.problem(), "unavailable");
    assert!(refused.header("retry-after").is_some());
    tenant.admin(Method::GET, "/rules", &Value::Null).await.expect(200);
    tenant.check(0, &of("ann")).await.expect(200);
    let log = stack.control.log();
    assert_eq!(log.lines().filter(|line| line.contains("No space left")).count(), 1, "{log}");
    sql("DROP TRIGGER full_disk ON rules");
    tenant.admin(Method::POST, "/rules", &more).await.expect(201);
}

/// G-04: a row that this release cannot read.
#[tokio::test]
async fn unreadable_rule_is_listed_and_gates_apply_its_last_readable_revision() {
    let stack = Stack::start(PATIENT_MS).await;
    let tenant = Tenant::sign_up(&stack).await;
    let rule = tenant.rule(&limited_to(3)).await;
    let damage = "UPDATE rules
        SET spec = jsonb_set(spec, '{limits,0,algorithm}', '\"nonsense\"')";
    let psql = stack.postgres.psql("weir", &["--single-transaction", "-c", damage]);
    psql.expect("the row is damaged");
    let left_out = async |gate: usize| {
        let metrics = metrics(&stack.gates[gate].url).await;
        metrics.contains("weir_rulebook_left_out 1")
    };
    for gate in [0, 1] {
        until(seconds(20), "the gate reports it", async || left_out(gate).await).await;
    }
    // The last readable revision applies, now and after a restart with the rows of Postgres.
    let passed = async |user: &str| {
        let mut passed = 0;
        for at in 0..5 {
            passed += usize::from(tenant.check(at % 2, &of(user)).await.allowed());
        }
        passed
    };
    assert_eq!(passed("ann").await, 3);

    let listed = tenant.admin(Method::GET, "/rules", &Value::Null).await.expect(200);
    assert_eq!(listed.text("/data/0/name"), "per-user");
    assert!(!listed.text("/data/0/unreadable").is_empty());
    let one = format!("/rules/{}", rule.id);
    tenant.admin(Method::GET, &one, &Value::Null).await.expect(200);

    // A gate that never had a readable revision applies `on_store_failure`.
    let fresh = stack.gate(GateSettings::default());
    stack.until_ready(&fresh).await;
    let reply = tenant.ask(&fresh, "/check", &of("bob")).await;
    assert_eq!(reply.status, 429, "{}", reply.body);

    let revert = json!({ "revision": 1 });
    tenant.admin(Method::POST, &format!("{one}/revert"), &revert).await.expect(200);
    let listed = tenant.admin(Method::GET, "/rules", &Value::Null).await.expect(200);
    assert!(listed.body["data"][0]["unreadable"].is_null(), "{}", listed.body);
    stack.postgres.psql("weir", &["--single-transaction", "-c", damage]).expect("damaged again");
    tenant.admin(Method::DELETE, &one, &Value::Null).await.expect(204);
    print("an unreadable rule was listed, reverted and deleted");
}

/// a login that could become the owner is refused, regardless of its present role.
#[tokio::test]
async fn serve_ends_when_its_login_in_postgres_has_too_many_rights() {
    let stack = shared().await;
    for (role, url) in [
        ("control", stack.postgres.url("weir")),
        ("gate", stack.postgres.url("weir")),
        ("gate", stack.control_url()),
        ("control", stack.gate_url()),
    ] {
        let key = signing_key();
        let redis_url = stack.redis.url();
        let env = [
            ("WEIR_ROLES", role),
            ("WEIR_DATABASE_URL", url.as_str()),
            ("WEIR_REDIS_URL", redis_url.as_str()),
            ("WEIR_JWT_KEY", key.as_str()),
            ("WEIR_CONTROL_ADDR", "127.0.0.1:0"),
            ("WEIR_GATE_ADDR", "127.0.0.1:0"),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let output = tokio::task::spawn_blocking(move || {
            let env = env.each_ref().map(|(name, value)| (name.as_str(), value.as_str()));
            weir(&["serve"], &env, "")
        });
        let output = output.await.expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{role}: {said}");
        assert!(said.contains("check the rights of the"), "{role}: {said}");
    }
}

/// A gate that cannot compare its rulebook with Postgres reports it, and refuses checks if its operator chose that.
#[tokio::test]
async fn stale_rulebook_is_reported_and_refused_where_the_operator_chose_that() {
    let stack = Stack::start(PATIENT_MS).await;
    let tenant = Tenant::sign_up(&stack).await;
    tenant.rule(&limited_to(1000)).await;
    let gate = |stale: &str| {
        stack.gate(GateSettings {
            env: vec![
                ("WEIR_RULEBOOK_MAX_AGE_S", "5".to_owned()),
                ("WEIR_RULEBOOK_STALE", stale.to_owned()),
            ],
            ..GateSettings::default()
        })
    };
    let (serving, refusing) = (gate("serve"), gate("refuse"));
    let http = Http::new();
    let check = async |gate: &Server| tenant.ask(gate, "/check", &of("ann")).await.status;
    for gate in [&serving, &refusing] {
        stack.until_ready(gate).await;
        until(seconds(20), "it decides", async || check(gate).await == 200).await;
    }
    stack.postgres.stop().expect("Postgres stops");
    until(seconds(30), "checks are refused", async || check(&refusing).await == 503).await;
    assert_eq!(http.get(&format!("{}/readyz", refusing.url)).await.status, 503);
    let ready = format!("{}/readyz", serving.url);
    until(seconds(30), "the other one says so too", async || {
        http.get(&ready).await.body["rulebook"] == "stale"
    })
    .await;
    assert_eq!(check(&serving).await, 200);
    let metrics = metrics(&serving.url).await;
    assert!(metrics.contains("weir_rulebook_stale 1"), "{metrics}");
    stack.postgres.restart().expect("Postgres starts again");
    until(seconds(30), "checks are decided again", async || check(&refusing).await == 200).await;
}
