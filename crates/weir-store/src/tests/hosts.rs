//! An address with several hosts: transactions begin on the first one that accepts writes.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use weir_local::{Postgres, PostgresOptions, ScratchDir};

use super::*;
use crate::Role;
use crate::test_support::connect;

const PASSWORD: &str = "the-logins-of-a-test";

fn start(data_dir: &Path) -> Postgres {
    let options = PostgresOptions { data_dir: data_dir.to_owned(), durable: false };
    Postgres::start(options).unwrap()
}

/// A migrated primary, and a copy of it in recovery, which accepts no writes until it is promoted.
async fn pair(scratch: &ScratchDir) -> (Postgres, Postgres) {
    let primary = start(&scratch.path().join("primary"));
    primary.create_database("weir").unwrap();
    let owner = connect(&primary.url("weir"), Role::Owner);
    owner.migrate().await.unwrap();
    owner.create_login(Role::App, PASSWORD).await.unwrap();
    owner.close().await;
    primary.stop().unwrap();
    let copy = primary.data_dir().with_file_name("standby");
    let copied = Command::new("cp").arg("-a").arg(primary.data_dir()).arg(&copy).status().unwrap();
    assert!(copied.success());
    std::fs::remove_file(copy.join("port")).unwrap();
    std::fs::write(copy.join("cluster").join("standby.signal"), "").unwrap();
    primary.restart().unwrap();
    (primary, start(&copy))
}

/// The address with both hosts, for the login of the control plane.
fn address(hosts: [&Postgres; 2]) -> String {
    let [first, second] = hosts.map(|host| format!("127.0.0.1:{}", host.port()));
    let attributes = "target_session_attrs=read-write";
    format!("postgres://weir_control_login:{PASSWORD}@{first},{second}/weir?{attributes}")
}

/// The port of the server on which a transaction begins, and the process that serves it.
async fn server(store: &Store) -> Result<(i32, i32), StoreError> {
    let mut tx = store.begin("tests", Scope::Service).await?;
    let select = unchecked("SELECT current_setting('port')::integer, pg_backend_pid()");
    let row = select.fetch_one(tx.connection()).await?;
    tx.commit().await?;
    Ok((row.get(0), row.get(1)))
}

/// Waits until transactions begin on this server.
async fn until_on(store: &Store, server_port: u16) {
    let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
    loop {
        let found = server(store).await;
        if matches!(found, Ok((port, _)) if port == i32::from(server_port)) {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{found:?}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn host_in_recovery_is_skipped_and_used_once_it_is_promoted() {
    let scratch = ScratchDir::create().unwrap();
    let (primary, standby) = pair(&scratch).await;
    let store = connect(&address([&standby, &primary]), Role::App);
    for _ in 0..3 {
        assert_eq!(server(&store).await.unwrap().0, i32::from(primary.port()));
    }
    primary.kill().unwrap();
    let refused = server(&store).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused}");
    let reason = refused.reason();
    assert!(
        reason.contains("read-only") && reason.contains(&primary.port().to_string()),
        "{reason}"
    );
    standby.psql("weir", &["-c", "SELECT pg_promote()"]).unwrap();
    until_on(&store, standby.port()).await;
    user(&store, "a@example.com").await;
}

/// The standby replays nothing, so its version would stand still while rules change.
#[tokio::test]
async fn rulebook_of_a_replica_is_refused_even_if_it_is_the_only_host() {
    let scratch = ScratchDir::create().unwrap();
    let (_primary, standby) = pair(&scratch).await;
    let address = format!("127.0.0.1:{}/weir", standby.port());
    let store = connect(&format!("postgres://weir_control_login:{PASSWORD}@{address}"), Role::App);
    let reason = store.rulebook_version().await.unwrap_err().reason();
    assert!(reason.contains("is a replica"), "{reason}");
    standby.psql("weir", &["-c", "SELECT pg_promote()"]).unwrap();
    assert_eq!(store.rulebook_version().await.unwrap().number, 0);
}

/// A demoted primary refuses writes on its connections with 25006.
#[tokio::test(flavor = "multi_thread")]
async fn connection_on_which_a_write_was_refused_as_read_only_is_closed() {
    let scratch = ScratchDir::create().unwrap();
    let (primary, standby) = pair(&scratch).await;
    standby.psql("weir", &["-c", "SELECT pg_promote()"]).unwrap();
    let store = connect(&address([&primary, &standby]), Role::App);
    until_on(&store, primary.port()).await;
    let one = connect(&primary.url_as("weir", "weir_control_login", PASSWORD), Role::App);
    let (_, process) = server(&one).await.unwrap();
    for (statement, which) in [
        ("ALTER SYSTEM SET default_transaction_read_only = on", &primary),
        ("SELECT pg_reload_conf()", &primary),
    ] {
        which.psql("weir", &["-c", statement]).unwrap();
    }
    let write = "UPDATE users SET name = name";
    for store in [&store, &one] {
        let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
        loop {
            let mut tx = store.begin("tests", Scope::Service).await.unwrap();
            if raw(&mut tx, write).await.is_err() {
                break;
            }
            assert!(tokio::time::Instant::now() < deadline, "the setting is never in force");
            tokio::task::yield_now().await;
        }
    }
    assert_ne!(server(&one).await.unwrap().1, process, "the connection was closed");
    assert_eq!(server(&store).await.unwrap().0, i32::from(standby.port()));
}
