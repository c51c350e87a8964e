//! Redis over TLS: a server decides checks only if its certificate is trusted.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use weir_local::{Redis, RedisOptions, ScratchDir, free_port};

use crate::harness::{Certificate, GateSettings, Server, Stack, Tenant, seconds, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checks_are_encrypted_to_a_redis_with_a_trusted_certificate() {
    let stack = Stack::start(1_000).await;
    let tenant = Tenant::sign_up(&stack).await;
    let rule = json!({ "namespace": "default", "name": "one", "count_by": ["user"], "on_store_failure": "deny",
        "limits": [{ "algorithm": "fixed_window", "limit": 3, "window_ms": 86_400_000 }] });
    tenant.rule(&rule).await;
    let scratch = ScratchDir::create().expect("a scratch folder");
    let data_dir = scratch.path().join("redis");
    let started = tokio::task::spawn_blocking(move || {
        Redis::start_installed(RedisOptions { data_dir, settings: Vec::new() })
    });
    let redis = started.await.expect("it runs").expect("redis starts");
    let plain = GateSettings { redis_url: Some(redis.url()), ..GateSettings::default() };
    let plain = stack.gate(plain);
    stack.until_ready(&plain).await;
    let (redis_url, authority) = speak_tls(&redis);

    let believing = GateSettings {
        redis_url: Some(redis_url.clone()),
        redis_ca_file: Some(authority),
        ..GateSettings::default()
    };
    let gate = stack.gate(believing);
    stack.until_ready(&gate).await;
    let answer = check(&tenant, &gate).await;
    assert_eq!(answer["degraded"], Value::Null, "{answer}");
    assert_eq!(answer["remaining"], 2, "{answer}");
    let answer = check(&tenant, &plain).await;
    assert_eq!(answer["remaining"], 1, "the same counters, without TLS: {answer}");

    let doubting =
        stack.gate(GateSettings { redis_url: Some(redis_url), ..GateSettings::default() });
    stack.until_serving(&doubting).await;
    until(seconds(20), "the gate decides without Redis", async || {
        let answer = check(&tenant, &doubting).await;
        answer["degraded"] == "deny" && answer["allowed"] == false
    })
    .await;
    assert!(doubting.log().contains("certificate"), "{}", doubting.log());
}

/// Creates an authority and a certificate for Redis, which opens a second port with it. Returns the address of that port and
/// the file of the authority.
fn speak_tls(redis: &Redis) -> (String, PathBuf) {
    let pem = Certificate::of_a_private_authority();
    let folder = redis.data_dir();
    let written = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("a file of Redis' own folder");
        // Redis runs under another account.
        let mode = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(&path, mode).expect("a file of ours");
        path
    };
    let file = written("redis.crt", &pem.signed);
    let key = written("redis.key", &pem.key);
    let port = free_port().expect("a port is free");
    let said = redis.command(&format!(
        "CONFIG SET tls-auth-clients no tls-cert-file {} tls-key-file {} tls-port {port}",
        file.display(),
        key.display(),
    ));
    assert_eq!(said.expect("Redis takes settings"), "+OK\r\n");
    let url = format!("rediss://:{}@localhost:{port}/0", redis.password());
    (url, written("authority.crt", &pem.authority))
}

async fn check(tenant: &Tenant<'_>, gate: &Server) -> Value {
    let body = json!({ "attributes": { "user": "u-1" } });
    tenant.ask(gate, "/check", &body).await.body
}
