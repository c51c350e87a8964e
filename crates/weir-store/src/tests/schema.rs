//! Migrations, roles, and what every table must have.

use super::*;
use crate::test_support::{connect, login_url};
use crate::{PoolSettings, Role};

#[tokio::test]
async fn migrations_run_twice_and_by_two_processes_at_once() {
    let name = "weir_migrated_twice";
    weir_local::shared::postgres().create_database(name).unwrap();
    let url = weir_local::shared::postgres().url(name);
    let store = || Store::connect(&url, Role::Owner, &PoolSettings::default()).unwrap();
    let (one, other) = (store(), store());
    let (first, second) = tokio::join!(one.migrate(), other.migrate());
    first.unwrap();
    second.unwrap();
    one.migrate().await.unwrap();
    assert_eq!(one.rulebook_version().await.unwrap(), 0);
}

#[tokio::test]
async fn app_and_gate_are_confined_and_the_owner_is_not() {
    let database = database().await;
    database.app.assert_confined().await.unwrap();
    database.gate.assert_confined().await.unwrap();
    let refused = database.owner.assert_confined().await.unwrap_err();
    assert!(refused.to_string().contains("superuser"), "{refused}");
}

#[tokio::test]
async fn login_that_could_do_more_than_its_plane_is_refused_whatever_role_it_takes_on() {
    let database = database().await;
    // As it was before: the owner's login under a plane's role.
    let refused = connect(&database.url, Role::Gate).assert_confined().await.unwrap_err();
    assert!(refused.to_string().contains("superuser"), "{refused}");
    // The other plane's login, and one that is a member of both.
    let name = &database.name;
    let crossed = login_url(name, Role::App);
    assert!(connect(&crossed, Role::Gate).assert_confined().await.is_err());
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let create = "DO $$ BEGIN
        DROP ROLE IF EXISTS test_member_of_both;
        CREATE ROLE test_member_of_both LOGIN NOINHERIT PASSWORD 'of both planes';
        GRANT weir_app, weir_gate TO test_member_of_both;
    END $$";
    raw(&mut tx, create).await.unwrap();
    tx.commit().await.unwrap();
    let postgres = weir_local::shared::postgres();
    let both = postgres.url_as(name, "test_member_of_both", "of%20both%20planes");
    let refused = connect(&both, Role::Gate).assert_confined().await.unwrap_err();
    assert!(refused.to_string().contains("weir_app"), "{refused}");
}

#[tokio::test]
async fn reset_role_in_a_planes_connection_gives_nothing() {
    let database = database().await;
    user(&database.owner, "secret@example.com").await;
    for store in [&database.gate, &database.app] {
        for regain in ["RESET ROLE", "SET ROLE NONE", "RESET SESSION AUTHORIZATION"] {
            let mut tx = store.begin("tests", Scope::Service).await.unwrap();
            raw(&mut tx, regain).await.unwrap();
            let read = raw(&mut tx, "SELECT password_hash FROM users").await;
            assert!(!matches!(read, Ok(1..)), "{regain}: {read:?}");
        }
        for role in ["SET ROLE weir", "SET SESSION AUTHORIZATION weir"] {
            let mut tx = store.begin("tests", Scope::Service).await.unwrap();
            raw(&mut tx, role).await.unwrap_err();
        }
    }
}

#[tokio::test]
async fn every_table_forces_row_level_security_but_the_counter() {
    let database = database().await;
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let open = texts(
        &mut tx,
        "SELECT relname::text FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
            AND NOT (relrowsecurity AND relforcerowsecurity)
        ORDER BY relname",
    )
    .await;
    assert_eq!(open, ["_sqlx_migrations", "rulebook_versions"]);
}

#[tokio::test]
async fn constraints_are_named_after_table_and_kind() {
    let database = database().await;
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let misnamed = texts(
        &mut tx,
        "SELECT conname::text FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
        WHERE c.connamespace = 'public'::regnamespace
            AND t.relname <> '_sqlx_migrations'
            AND conname !~ ('^' || t.relname || '_[a-z_]+_(pkey|key|fkey|check)$')",
    )
    .await;
    assert_eq!(misnamed, Vec::<String>::new());
}

#[tokio::test]
async fn lost_database_is_unavailable_and_not_a_bug() {
    let port = weir_local::free_port().unwrap();
    let url = format!("postgres://weir@127.0.0.1:{port}/weir");
    let store = Store::connect(&url, Role::App, &PoolSettings::default()).unwrap();
    let error = store.ping().await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    assert!(Store::connect("no address", Role::App, &PoolSettings::default()).is_err());
}

#[tokio::test]
async fn stored_logs_above_their_bound_become_counters_or_logs_within_it() {
    const MIGRATION: &str =
        include_str!("../../../../migrations/20261122020000_bound_sliding_window_logs.sql");
    const STORED: &str = r#"
        INSERT INTO tenants (id, name, created_at) VALUES (gen_random_uuid(), 'logs', now());
        INSERT INTO rules (tenant_id, id, namespace, name, spec, slots, next_slot, revision,
            rulebook_version, created_at, updated_at)
        SELECT id, gen_random_uuid(), 'default', 'logs', '{"limits": [
            {"algorithm": "sliding_window_log", "limit": 10000, "window_ms": 1000, "count_denied": true},
            {"algorithm": "sliding_window_log", "limit": 10001, "window_ms": 60000, "count_denied": true},
            {"algorithm": "sliding_window_log", "limit": 1000000000, "window_ms": 31622400000},
            {"algorithm": "fixed_window", "limit": 20000, "window_ms": 1000}
        ]}', '{0,1,2,3}', 4, 1, 0, now(), now() FROM tenants;"#;
    const READ: &str = "SELECT string_agg(concat_ws(' ', item ->> 'algorithm', item ->> 'limit',
            item ->> 'count_denied'), ', ' ORDER BY place)
            || '; ' || rulebook_version || ' ' || (SELECT max(version) FROM tenants)
        FROM rules, jsonb_array_elements(spec -> 'limits') WITH ORDINALITY AS of_rule (item, place)
        GROUP BY rulebook_version";
    let database = database().await;
    let name = database.url.rsplit('/').next().unwrap().to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let postgres = weir_local::shared::postgres();
        let migration = format!("BEGIN; {MIGRATION} COMMIT;");
        postgres.psql(&name, &["-c", STORED]).unwrap();
        postgres.psql(&name, &["-c", &migration]).unwrap();
        postgres.psql(&name, &["-c", &migration]).unwrap();
        postgres.psql(&name, &["-c", READ]).unwrap()
    });
    assert_eq!(
        read.await.unwrap().trim(),
        "sliding_window_log 10000 true, sliding_window_counter 10001, sliding_window_log 10000, \
         fixed_window 20000; 1 1"
    );
}
