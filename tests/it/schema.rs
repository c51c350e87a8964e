//! Releases and schemas that differ: a process waits for `weir migrate`, and an older `weir migrate` leaves a newer schema alone.

use reqwest::Method;
use weir_local::{Postgres, PostgresOptions, Redis, RedisOptions, ScratchDir};

use crate::harness::{
    Http, Reply, Server, control_env, folder, seconds, signing_key, start_control, try_send, until,
    weir,
};

const PASSWORD: &str = "the-logins-of-a-test";

async fn readyz(server: &Server) -> Option<Reply> {
    Http::new().try_get(&format!("{}/readyz", server.url)).await
}

fn migrate(postgres: &Postgres, database: &str) -> String {
    let url = postgres.url(database);
    let env = [
        ("WEIR_DATABASE_URL", url.as_str()),
        ("WEIR_CONTROL_DATABASE_PASSWORD", PASSWORD),
        ("WEIR_GATE_DATABASE_PASSWORD", PASSWORD),
    ];
    let migrated = weir(&["migrate"], &env, "");
    let text = String::from_utf8_lossy(&migrated.stderr).into_owned();
    assert!(migrated.status.success(), "{text}");
    text
}

/// Waits until the control plane says that its schema is older.
async fn until_older(control: &Server) {
    until(seconds(60), "the schema is older", async || {
        readyz(control).await.is_some_and(|answer| {
            answer.status == 503
                && answer.text("/detail")
                    == "the schema is older than this release: run weir migrate"
        })
    })
    .await;
}

async fn until_ready(control: &Server) {
    until(seconds(60), "the control plane is ready", async || {
        readyz(control).await.is_some_and(|answer| answer.status == 200)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn control_plane_waits_for_the_schema_and_works_once_it_is_migrated() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let at = |name: &str| scratch.path().join(name);
    let options = PostgresOptions { data_dir: at("postgres"), durable: false };
    let postgres = Postgres::start(options).expect("start Postgres");
    let options = RedisOptions { data_dir: at("redis"), settings: Vec::new() };
    let redis = Redis::start(options).expect("start Redis");
    // The login exists before the schema, as after a rollout in the wrong order; the role of the plane does not yet.
    let login = format!("CREATE ROLE weir_control_login LOGIN NOINHERIT PASSWORD '{PASSWORD}'");
    postgres.psql("postgres", &["-c", &login]).expect("a login");
    postgres.create_database("weir").expect("a database");
    let url = postgres.url_as("weir", "weir_control_login", PASSWORD);
    let env = control_env(url, redis.url(), &signing_key());
    let control = start_control(folder(scratch.path(), "control"), &env);
    until_older(&control).await;
    let sign_in = || {
        let url = format!("{}/api/v1/auth/login", control.url);
        let body = serde_json::json!({ "email": "a@example.com", "password": "a long password" });
        try_send(Http::new().request(Method::POST, &url).json(&body))
    };
    sign_in().await.expect("answered").expect(503);
    migrate(&postgres, "weir");
    until_ready(&control).await;
    sign_in().await.expect("answered").expect(401);

    // The newest migration was not applied.
    let newest = "DELETE FROM _sqlx_migrations
        WHERE version = (SELECT max(version) FROM _sqlx_migrations) RETURNING version";
    let keep = "CREATE TABLE kept AS SELECT * FROM _sqlx_migrations";
    postgres.psql("weir", &["-c", keep, "-c", newest]).expect("the owner may");
    until_older(&control).await;
    let restore = "INSERT INTO _sqlx_migrations SELECT * FROM kept ON CONFLICT DO NOTHING";
    postgres.psql("weir", &["-c", restore, "-c", "DROP TABLE kept"]).expect("the owner may");
    until_ready(&control).await;
    assert_eq!(control.exit_code(), None);
    assert_eq!(control.log().matches("the control plane: the schema is older").count(), 1);

    // A newer release migrated: the process works, and `weir migrate` of this one changes nothing.
    let newer = "INSERT INTO _sqlx_migrations VALUES (20990101000000, 'later', now(), true, '', 0)";
    postgres.psql("weir", &["-c", newer]).expect("the owner may");
    assert_eq!(readyz(&control).await.expect("answered").status, 200);
    let text = migrate(&postgres, "weir");
    assert!(
        text.contains("the schema is newer than this release and compatible with it"),
        "{text}"
    );
    assert!(!text.contains("up to date"), "{text}");
}
