//! Settings, `weir health`, `weir user create`, `weir migrate`.

use std::process::Output;

use reqwest::Method;
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::harness::{Http, shared, signing_key, try_send, weir};

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn all_that_is_wrong_with_the_settings_is_said_at_once_and_no_port_is_opened() {
    let port = weir_local::free_port().expect("a port is free");
    let address = format!("127.0.0.1:{port}");
    let env = [
        ("WEIR_ROLES", "control,gatekeeper"),
        ("WEIR_DATABASE_URL", "mysql://127.0.0.1/weir"),
        ("WEIR_REDIS_URL", "nonsense"),
        ("WEIR_REDIS_BUDGET_MS", "0"),
        ("WEIR_CONTROL_ADDR", &address),
        ("WEIR_GATE_ADDR", "everywhere"),
        ("WEIR_SIGNUP", "perhaps"),
        ("WEIR_JWT_KEY", "c2hvcnQ="),
        ("WEIR_GATE_ORIGINS", "example.com/path"),
    ];
    let output = weir(&["serve"], &env, "");
    assert_eq!(output.status.code(), Some(1));
    let said = complaint(&output);
    let wrong = [
        "gatekeeper",
        "WEIR_DATABASE_URL",
        "WEIR_REDIS_URL",
        "WEIR_REDIS_BUDGET_MS",
        "WEIR_GATE_ADDR",
        "WEIR_SIGNUP",
        "WEIR_JWT_KEY",
        "WEIR_GATE_ORIGINS",
    ];
    for name in wrong {
        assert!(said.contains(name), "{name} is not named: {said}");
    }
    assert!(!said.contains("c2hvcnQ="), "a secret is shown: {said}");
    assert!(!crate::harness::listens(port));
}

#[tokio::test]
async fn unsuitable_redis_ends_the_process_with_the_name_of_the_setting() {
    for (setting, command, reason) in [
        ("replicaof 127.0.0.1 1", "PING", "it is the address of a replica"),
        ("maxmemory 0", "ACL SETUSER default -fcall", "its user needs the rights +fcall"),
    ] {
        let output = spawn_blocking(move || {
            let scratch = weir_local::ScratchDir::create().expect("a scratch folder");
            let options = weir_local::RedisOptions {
                data_dir: scratch.path().join("redis"),
                settings: vec![setting.to_owned()],
            };
            let redis = weir_local::Redis::start(options).expect("redis starts");
            redis.command(command).expect("it answers");
            let port = weir_local::free_port().expect("a port is free");
            let env = [
                ("WEIR_ROLES", "gate"),
                ("WEIR_DATABASE_URL", "postgres://gate@127.0.0.1:1/weir"),
                ("WEIR_REDIS_URL", &redis.url()),
                ("WEIR_GATE_ADDR", &format!("127.0.0.1:{port}")),
            ];
            weir(&["serve"], &env, "")
        });
        let output = output.await.expect("it ends");
        assert_eq!(output.status.code(), Some(1));
        let said = complaint(&output);
        assert!(
            said.contains("WEIR_REDIS_URL cannot be used: ") && said.contains(reason),
            "{said}"
        );
    }
}

#[tokio::test]
async fn check_redis_exits_with_0_only_if_redis_is_suitable() {
    let outputs = spawn_blocking(|| {
        let scratch = weir_local::ScratchDir::create().expect("a scratch folder");
        let data_dir = scratch.path().join("redis");
        let options = weir_local::RedisOptions { data_dir, settings: Vec::new() };
        let redis = weir_local::Redis::start(options).expect("redis starts");
        let budget = ("WEIR_REDIS_BUDGET_MS", "10000");
        let good = weir(&["check-redis", &redis.url()], &[budget], "");
        redis.command("CONFIG SET maxmemory-policy allkeys-lru").expect("it runs");
        let bad = weir(&["check-redis"], &[budget, ("WEIR_REDIS_URL", &redis.url())], "");
        [good, bad]
    });
    let [good, bad] = outputs.await.expect("both end");
    let report = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(good.status.code(), Some(0), "{}{}", report(&good), complaint(&good));
    assert!(report(&good).contains("ok      eviction     noeviction"), "{}", report(&good));
    assert_eq!(bad.status.code(), Some(1), "{}", report(&bad));
    assert!(report(&bad).contains("BAD     eviction"), "{}", report(&bad));
    assert!(complaint(&bad).contains("Weir cannot use this Redis"), "{}", complaint(&bad));
}

#[tokio::test]
async fn authority_that_cannot_be_believed_is_said() {
    let folder = weir_local::ScratchDir::create().expect("a scratch folder");
    let (missing, empty) = (folder.path().join("missing.crt"), folder.path().join("empty.crt"));
    std::fs::write(&empty, "").expect("a file");
    let cases = [
        ("rediss://localhost", &missing, "cannot be read"),
        ("rediss://localhost", &empty, "holds no certificate"),
        ("redis://localhost", &empty, "rediss://"),
    ];
    for (url, path, reason) in cases {
        let path = path.display().to_string();
        let env = [("WEIR_REDIS_URL", url), ("WEIR_REDIS_CA_FILE", path.as_str())];
        let output = weir(&["serve"], &env, "");
        assert_eq!(output.status.code(), Some(1));
        let said = complaint(&output);
        assert!(said.contains("WEIR_REDIS_CA_FILE") && said.contains(reason), "{path}: {said}");
    }
}

#[tokio::test]
async fn settings_that_are_missing_are_named() {
    let output = weir(&["serve"], &[], "");
    assert_eq!(output.status.code(), Some(1));
    for name in ["WEIR_DATABASE_URL", "WEIR_REDIS_URL", "WEIR_JWT_KEY"] {
        assert!(complaint(&output).contains(name), "{}", complaint(&output));
    }
}

/// A wrong password or a port in use is reported at the start, not by the first request.
#[tokio::test]
async fn port_that_is_taken_is_said() {
    let stack = shared().await;
    let taken = stack.control.url.trim_start_matches("http://").to_owned();
    let (database_url, redis_url, key) = (stack.control_url(), stack.redis.url(), signing_key());
    let env = [
        ("WEIR_ROLES", "control"),
        ("WEIR_DATABASE_URL", &database_url),
        ("WEIR_REDIS_URL", &redis_url),
        ("WEIR_JWT_KEY", &key),
        ("WEIR_CONTROL_ADDR", &taken),
    ];
    let output = weir(&["serve"], &env, "");
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains(&taken), "{}", complaint(&output));
}

#[tokio::test]
async fn health_reports_whether_a_process_is_ready() {
    let stack = shared().await;
    for server in [&stack.control, &stack.gates[0]] {
        let output = weir(&["health", "--url", &server.url], &[], "");
        assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    }
    let nobody = format!("http://127.0.0.1:{}", weir_local::free_port().expect("a port is free"));
    let output = weir(&["health", "--url", &nobody], &[], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains(&nobody), "{}", complaint(&output));
}

#[tokio::test]
async fn account_made_on_the_command_line_can_sign_in() {
    let stack = shared().await;
    let database_url = stack.postgres.url("weir");
    let env = [("WEIR_DATABASE_URL", database_url.as_str())];
    let create = |email: &str, password: &str| {
        weir(&["user", "create", "--email", email], &env, &format!("{password}\n"))
    };
    let email = "made-by-hand@example.com";
    let made = create(email, "a password of mine");
    assert_eq!(made.status.code(), Some(0), "{}", complaint(&made));
    assert!(!String::from_utf8_lossy(&made.stdout).contains("a password of mine"));

    let http = Http::new();
    let login = async |password: &str| {
        let url = format!("{}/api/v1/auth/login", stack.control.url);
        let body = json!({ "email": email, "password": password });
        try_send(http.request(Method::POST, &url).json(&body)).await.expect("answered")
    };
    let signed_in = login("a password of mine").await.expect(200);
    assert_eq!(signed_in.text("/user/email"), email);
    assert_eq!(login("another password").await.expect(401).problem(), "unauthenticated");

    let again = create(email, "a password of mine");
    assert_eq!(again.status.code(), Some(1));
    assert!(complaint(&again).contains(email), "{}", complaint(&again));
    let weak = create("weak@example.com", "short");
    assert_eq!(weak.status.code(), Some(1));
    assert!(complaint(&weak).contains("password"), "{}", complaint(&weak));

    let random = create("random@example.com", "");
    let printed = String::from_utf8_lossy(&random.stdout).into_owned();
    assert!(printed.contains("password: "), "{printed}");
}

#[tokio::test]
async fn schema_is_migrated_twice_and_by_several_at_once() {
    let stack = shared().await;
    stack.postgres.create_database("migrated").expect("a database of its own");
    let migrate = |url: String| weir(&["migrate"], &[("WEIR_DATABASE_URL", &url)], "");
    let together: Vec<_> = (0..3)
        .map(|_| {
            let url = stack.postgres.url("migrated");
            spawn_blocking(move || migrate(url))
        })
        .collect();
    for one in together {
        let output = one.await.expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    }
    let again = migrate(stack.postgres.url("migrated"));
    assert_eq!(again.status.code(), Some(0), "{}", complaint(&again));
    let count = ["-c", "SELECT count(*) = count(DISTINCT version) FROM _sqlx_migrations"];
    assert_eq!(stack.postgres.psql("migrated", &count).expect("it answers"), "t");
}
