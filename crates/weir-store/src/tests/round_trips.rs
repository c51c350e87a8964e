//! Round trips to Postgres, counted by a relay.

use weir_local::Relay;

use super::*;
use crate::test_support::relayed_database;

/// The number of round trips of a call, after one that opens the connections.
async fn round_trips<T>(relay: &Relay, call: impl AsyncFn() -> T) -> u64 {
    call().await;
    let before = relay.round_trips();
    call().await;
    relay.round_trips() - before
}

#[tokio::test]
async fn poll_of_a_gate_and_its_heartbeat_are_one_round_trip_each() {
    let (database, relay) = relayed_database().await;
    let gate = &database.gate;
    assert_eq!(round_trips(&relay, async || gate.rulebook_version().await.unwrap()).await, 1);
    assert_eq!(round_trips(&relay, async || gate.poll_rulebook(None).await.unwrap()).await, 1);
    let beat = super::gates::beat();
    let minute = std::time::Duration::from_mins(1);
    assert_eq!(round_trips(&relay, async || gate.beat(&beat, minute).await.unwrap()).await, 1);
}

#[tokio::test]
async fn change_is_loaded_in_one_round_trip() {
    let (database, relay) = relayed_database().await;
    let gate = &database.gate;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let held = gate.rulebook_version().await.unwrap();
    write_rule(&database.app, rule(tenant_id, "second")).await;
    let load = async || gate.load_changes(held).await.unwrap().unwrap().tenants.len();
    assert_eq!(round_trips(&relay, load).await, 1);
}

#[tokio::test]
async fn callers_and_ceilings_of_a_request_are_one_round_trip_each() {
    let (database, relay) = relayed_database().await;
    let app = &database.app;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let session = accounts::session(owner);
    let mut tx = database.app.begin("tests", Scope::User(owner)).await.unwrap();
    tx.sessions().insert(&session).await.unwrap();
    tx.commit().await.unwrap();
    let caller =
        async || app.authenticate(session.id, owner, Some(tenant_id), NOW).await.unwrap().unwrap();
    assert_eq!(round_trips(&relay, caller).await, 1);
    let ceilings = async || app.ceilings_of(tenant_id).await.unwrap();
    assert_eq!(round_trips(&relay, ceilings).await, 1);
    let new = key(tenant_id);
    let mut tx = tenant_tx(app, tenant_id).await;
    tx.keys().insert(&new).await.unwrap();
    tx.commit().await.unwrap();
    let key = async || app.authenticate_key(&new.digest, NOW).await.unwrap().unwrap();
    assert_eq!(round_trips(&relay, key).await, 1);
}

#[tokio::test]
async fn transaction_begins_and_ends_with_one_round_trip_each() {
    let (database, relay) = relayed_database().await;
    let app = &database.app;
    let transaction = async || {
        let mut tx = app.begin("tests", Scope::Service).await.unwrap();
        raw(&mut tx, "SELECT").await.unwrap();
        tx.commit().await.unwrap();
    };
    assert_eq!(round_trips(&relay, transaction).await, 3);
}

#[tokio::test]
async fn statements_without_an_answer_travel_with_the_next_one() {
    let (database, relay) = relayed_database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let change = async || {
        let claim = crate::Claim {
            key: uuid::Uuid::from_u128(next()).to_string(),
            ..super::idempotency::claim(tenant_id)
        };
        let begun = database.app.begin_change("tests", tenant_id, Some(&claim)).await.unwrap();
        assert_eq!(begun.claimed, Some(crate::Claimed::Fresh));
        let mut tx = begun.tx;
        let name = format!("rule-{}", next());
        tx.rules().insert(&rule(tenant_id, &name), &Actor::System).await.unwrap();
        tx.audit().append(&super::audit::entry(Some(tenant_id), Actor::System));
        tx.idempotency().finish(&claim, 201, &json!({ "rulebook_version": 0 }));
        let version = tx.publish(tenant_id, Some(&claim.key)).await.unwrap().unwrap();
        let body = json!({ "rulebook_version": version });
        let again = database.app.begin_change("tests", tenant_id, Some(&claim)).await.unwrap();
        assert_eq!(again.claimed, Some(crate::Claimed::Replay { status: 201, body }));
    };
    change().await;
    // To begin, to write the rule, to end, and to begin the repeat, which is rolled back afterwards.
    let trips = round_trips(&relay, change).await;
    assert!((4..=6).contains(&trips), "{trips}");
}

/// Each kind of literal is the value that an argument would be, whatever the settings of the server.
#[tokio::test]
async fn literals_are_the_values_that_arguments_are() {
    let database = database().await;
    let texts_of = ["", "'", "\\'; DROP TABLE rules; --", "$1 ü\u{1f980}\n", "E'\\x41'"];
    for conforming in ["on", "off"] {
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        let setting = format!("SET LOCAL standard_conforming_strings = {conforming}");
        unchecked(sqlx::AssertSqlSafe(setting)).execute(tx.connection()).await.unwrap();
        for text in texts_of {
            let at = crate::convert::stored(NOW);
            let value = json!({ "text": text });
            let id = uuid::Uuid::from_u128(next());
            let sql = crate::message::rendered(
                "SELECT $1 = $8 AND $2 = $9 AND $3 = $10 AND $4 = $11 AND $5 = $12 AND $6 = $13 AND $7 IS NULL",
                &[
                    crate::message::literal(text),
                    crate::message::literal(&value),
                    crate::message::literal(&at),
                    crate::message::literal(&id),
                    crate::message::literal(text.as_bytes()),
                    crate::message::literal(&-1.5_f64),
                    crate::message::literal(&None::<i64>),
                    "$1".to_owned(),
                    "$2".to_owned(),
                    "$3".to_owned(),
                    "$4".to_owned(),
                    "$5".to_owned(),
                    "$6".to_owned(),
                ],
            );
            let asked =
                unchecked(sqlx::AssertSqlSafe(sql)).bind(text).bind(value).bind(at).bind(id);
            let asked = asked.bind(text.as_bytes()).bind(-1.5_f64);
            let row = asked.fetch_one(tx.connection()).await.unwrap();
            assert!(row.get::<bool, _>(0), "{text}");
        }
    }
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    let sql = format!("SELECT {}", crate::message::literal("a\0b"));
    let refused = unchecked(sqlx::AssertSqlSafe(sql)).execute(tx.connection()).await.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().code().as_deref(), Some("22021"));
}
