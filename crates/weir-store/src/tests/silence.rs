//! Connections on which Postgres stops answering: every call ends at its deadline, and the next gets a new connection.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use weir_local::Relay;

use super::*;
use crate::Role;
use crate::test_support::{connect, login_url};

/// Much longer than any deadline of the store, so that a test that hangs fails.
const AT_LAST: Duration = Duration::from_secs(20);

/// A store with connections that go through a relay.
async fn relayed(role: Role) -> (Store, Relay, TestDatabase) {
    let database = database().await;
    let port = weir_local::shared::postgres().port();
    let relay = Relay::start(port).unwrap();
    let url = login_url(&database.name, role).replace(&port.to_string(), &relay.port().to_string());
    (connect(&url, role), relay, database)
}

/// Fills the pool with connections that were used a moment ago, so that none is checked before its next use.
async fn warm(store: &Store) {
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(store.begin("tests", Scope::Service).await.unwrap());
    }
    for tx in open {
        tx.commit().await.unwrap();
    }
}

#[tokio::test]
async fn first_call_after_connections_went_silent_gets_a_new_one() {
    for role in [Role::App, Role::Gate] {
        let (store, relay, _database) = relayed(role).await;
        warm(&store).await;
        assert!(relay.silence() > 0);
        timeout(AT_LAST, store.rulebook_version()).await.unwrap().unwrap();
        timeout(AT_LAST, store.ping()).await.unwrap().unwrap();
        let tx = timeout(AT_LAST, store.begin("tests", Scope::Service)).await.unwrap().unwrap();
        tx.commit().await.unwrap();
    }
}

#[tokio::test]
async fn statement_on_a_silent_connection_is_unavailable_in_time() {
    let (store, relay, _database) = relayed(Role::App).await;
    let mut tx = store.begin("tests", Scope::Service).await.unwrap();
    relay.silence();
    let began = Instant::now();
    let error = timeout(AT_LAST, raw(&mut tx, "SELECT 1")).await.unwrap().unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    assert!(began.elapsed() >= Duration::from_secs(2), "the deadline is the store's own");
    drop(tx);
    timeout(AT_LAST, store.ping()).await.unwrap().unwrap();
}

#[tokio::test]
async fn abandoned_transactions_on_silent_connections_do_not_use_up_the_pool() {
    let (store, relay, _database) = relayed(Role::App).await;
    for _ in 0..3 {
        let mut open = Vec::new();
        for _ in 0..8 {
            open.push(
                timeout(AT_LAST, store.begin("tests", Scope::Service)).await.unwrap().unwrap(),
            );
        }
        relay.silence();
        drop(open);
    }
    timeout(AT_LAST, store.ping()).await.unwrap().unwrap();
}

#[tokio::test]
async fn late_reply_is_never_taken_for_another_statements() {
    let (store, _relay, _database) = relayed(Role::App).await;
    let hasty = store.with_answer_timeout(Duration::from_millis(300));
    let mut tx = hasty.begin("tests", Scope::Service).await.unwrap();
    // The server has no deadline, so the connection is abandoned while the statement runs.
    raw(&mut tx, "SET LOCAL statement_timeout = 0").await.unwrap();
    let slow = raw(&mut tx, "SELECT pg_sleep(5)").await.unwrap_err();
    assert!(matches!(slow, StoreError::Unavailable(_)), "{slow}");
    drop(tx);
    let mut tx = store.begin("tests", Scope::Service).await.unwrap();
    assert_eq!(texts(&mut tx, "SELECT 'mine'::text").await, ["mine"]);
}

#[tokio::test]
async fn slow_statement_is_cancelled_by_the_server_and_costs_no_connection() {
    let (store, _relay, _database) = relayed(Role::App).await;
    let pid = "SELECT pg_backend_pid()::text";
    let mut tx = store.begin("tests", Scope::Service).await.unwrap();
    let before = texts(&mut tx, pid).await;
    let slow = raw(&mut tx, "SELECT pg_sleep(60)").await.unwrap_err();
    assert!(matches!(slow, StoreError::Unavailable(_)), "{slow}");
    drop(tx);
    let until = Instant::now() + AT_LAST;
    loop {
        let mut tx = store.begin("tests", Scope::Service).await.unwrap();
        if texts(&mut tx, pid).await == before {
            break;
        }
        assert!(Instant::now() < until, "the connection was closed");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn frozen_server_fails_every_call_within_three_seconds_and_recovers() {
    let (store, relay, _database) = relayed(Role::App).await;
    warm(&store).await;
    relay.set_deaf(true);
    relay.silence();
    let calls = (0..24).map(|_| async {
        let began = Instant::now();
        let called = timeout(AT_LAST, store.begin("tests", Scope::Service)).await.unwrap();
        assert!(matches!(called, Err(StoreError::Unavailable(_))));
        began.elapsed()
    });
    let took = futures_util::future::join_all(calls).await;
    // The deadline is 2.6 s. The rest allows for a busy machine.
    assert!(took.iter().all(|took| *took < Duration::from_secs(8)), "{took:?}");
    relay.set_deaf(false);
    timeout(AT_LAST, store.ping()).await.unwrap().unwrap();
}
