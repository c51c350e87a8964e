//! Migrations, roles, and rules that every table must follow.

use sqlx::migrate::{Migration, MigrationType};
use sqlx::{AssertSqlSafe, SqlSafeStr as _};
use weir_domain::counter::Layout;

use super::*;
use crate::test_support::{connect, login_url};
use crate::{MIGRATOR, Migrated, PoolSettings, Role, schema};

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
    assert_eq!(one.rulebook_version().await.unwrap().number, 0);
}

#[tokio::test]
async fn schema_that_lacks_a_migration_is_older_and_one_with_more_is_not() {
    let database = database().await;
    let newest = MIGRATOR.iter().map(|migration| migration.version).max().unwrap();
    let planes = [&database.app, &database.gate];
    for (change, older) in [
        (format!("UPDATE _sqlx_migrations SET success = false WHERE version = {newest}"), true),
        (format!("DELETE FROM _sqlx_migrations WHERE version = {newest}"), true),
        (
            "INSERT INTO _sqlx_migrations VALUES (20990101000000, 'later', now(), true, '', 0)"
                .to_owned(),
            false,
        ),
        ("DROP FUNCTION weir_schema_versions".to_owned(), true),
    ] {
        for plane in planes {
            plane.assert_schema().await.unwrap();
        }
        let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
        raw(&mut tx, "CREATE TABLE saved AS SELECT * FROM _sqlx_migrations").await.unwrap();
        unchecked(AssertSqlSafe(change.clone())).execute(tx.connection()).await.unwrap();
        tx.commit().await.unwrap();
        for plane in planes {
            let compared = plane.assert_schema().await;
            assert_eq!(matches!(compared, Err(StoreError::OlderSchema(_))), older, "{change}");
            assert_eq!(compared.is_ok(), !older, "{change}");
        }
        let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
        raw(&mut tx, "DELETE FROM _sqlx_migrations").await.unwrap();
        raw(&mut tx, "INSERT INTO _sqlx_migrations SELECT * FROM saved").await.unwrap();
        raw(&mut tx, "DROP TABLE saved").await.unwrap();
        tx.commit().await.unwrap();
    }
}

#[tokio::test]
async fn older_release_leaves_a_newer_schema_as_it_is_and_one_of_another_line_is_refused() {
    let name = "weir_migrated_by_a_newer_release";
    weir_local::shared::postgres().create_database(name).unwrap();
    let url = weir_local::shared::postgres().url(name);
    let store = Store::connect(&url, Role::Owner, &PoolSettings::default()).unwrap();
    assert_eq!(store.migrate().await.unwrap(), Migrated::UpToDate);
    let newer: Vec<_> = MIGRATOR.iter().cloned().chain([next_migration()]).collect();
    let newer: &'static [_] = newer.leak();
    assert_eq!(schema::migrate(store.pool(), newer).await.unwrap(), Migrated::UpToDate);
    let mut tx = store.begin("tests", Scope::Service).await.unwrap();
    raw(&mut tx, "INSERT INTO made_by_the_next_release VALUES (1)").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(store.migrate().await.unwrap(), Migrated::Newer(1));
    store.assert_schema().await.unwrap();
    assert_eq!(schema::migrate(store.pool(), newer).await.unwrap(), Migrated::UpToDate);
    let mut tx = store.begin("tests", Scope::Service).await.unwrap();
    assert_eq!(texts(&mut tx, "SELECT id::text FROM made_by_the_next_release").await, ["1"]);
    // A release with neither the made-up migration nor the same last one.
    let last = MIGRATOR.iter().map(|migration| migration.version).max().unwrap();
    let delete = format!("DELETE FROM _sqlx_migrations WHERE version = {last}");
    unchecked(AssertSqlSafe(delete)).execute(tx.connection()).await.unwrap();
    tx.commit().await.unwrap();
    let refused = store.migrate().await.unwrap_err().to_string();
    assert!(refused.contains("another line of releases"), "{refused}");
}

/// The migration that a later release adds.
fn next_migration() -> Migration {
    let create = "CREATE TABLE made_by_the_next_release (id integer)";
    let name = "create table of the next release".into();
    Migration::new(
        20_990_101_000_000,
        name,
        MigrationType::Simple,
        AssertSqlSafe(create).into_sql_str(),
        false,
    )
}

#[tokio::test]
async fn database_of_the_former_migrations_is_refused_until_it_has_the_list_of_the_new_ones() {
    let name = "weir_migrated_by_the_former_series";
    weir_local::shared::postgres().create_database(name).unwrap();
    let url = weir_local::shared::postgres().url(name);
    let store = Store::connect(&url, Role::Owner, &PoolSettings::default()).unwrap();
    store.migrate().await.unwrap();
    let mut tx = store.begin("tests", Scope::Service).await.unwrap();
    raw(&mut tx, "CREATE TABLE new_list AS SELECT * FROM _sqlx_migrations").await.unwrap();
    raw(&mut tx, "DELETE FROM _sqlx_migrations").await.unwrap();
    for former in ["20261121120000, 'create roles'", "20261126156000, 'end tokens'"] {
        let insert = format!("INSERT INTO _sqlx_migrations VALUES ({former}, now(), true, '', 0)");
        unchecked(AssertSqlSafe(insert)).execute(tx.connection()).await.unwrap();
    }
    tx.commit().await.unwrap();
    for refused in [store.migrate().await.unwrap_err(), store.assert_schema().await.unwrap_err()] {
        assert!(matches!(refused, StoreError::FormerSchema), "{refused}");
    }
    let mut tx = store.begin("tests", Scope::Service).await.unwrap();
    raw(&mut tx, "DELETE FROM _sqlx_migrations").await.unwrap();
    raw(&mut tx, "INSERT INTO _sqlx_migrations SELECT * FROM new_list").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(store.migrate().await.unwrap(), Migrated::UpToDate);
    store.assert_schema().await.unwrap();
}

#[tokio::test]
async fn schema_without_the_roles_of_the_planes_is_older() {
    let name = "weir_without_roles";
    weir_local::shared::postgres().create_database(name).unwrap();
    let url = weir_local::shared::postgres().url(name);
    // No such role exists on the server that all tests of this process share.
    let store = Store::connect(&url, Role::App, &PoolSettings::default()).unwrap();
    let store = store.with_role_of_a_test("weir_app_of_nobody");
    for _ in 0..3 {
        let error = store.assert_schema().await.unwrap_err();
        assert!(matches!(error, StoreError::OlderSchema(_)), "{}", error.reason());
    }
}

#[tokio::test]
async fn login_of_backups_reads_all_rows_and_writes_none() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    for password in ["the first password", "the second password"] {
        database.owner.create_backup_login(password).await.unwrap();
        let server = weir_local::shared::postgres();
        let url = server.url_as(&database.name, "weir_backup", password);
        let backup = connect(&url, Role::Owner);
        let mut tx = backup.begin("tests", Scope::Service).await.unwrap();
        raw(&mut tx, "SET LOCAL row_security = off").await.unwrap();
        let tenants = texts(&mut tx, "SELECT id::text FROM tenants").await;
        assert_eq!(tenants, [uuid::Uuid::from_u128(tenant_id.to_u128()).to_string()]);
        assert!(raw(&mut tx, "DELETE FROM tenants").await.is_err());
    }
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
async fn planes_with_another_layout_of_counters_are_refused() {
    let database = database().await;
    let own = Layout { buckets: 64, epoch: 1 };
    for store in [&database.app, &database.gate] {
        store.assert_layout(own).await.unwrap();
        for other in [Layout { buckets: 256, ..own }, Layout { epoch: 2, ..own }] {
            let refused = store.assert_layout(other).await.unwrap_err().to_string();
            assert!(refused.contains("the installation in 64 (epoch 1)"), "{refused}");
        }
    }
}

#[tokio::test]
async fn login_with_more_privileges_than_its_plane_is_refused_in_every_role() {
    let database = database().await;
    // The owner's login under a plane's role.
    let refused = connect(&database.url, Role::Gate).assert_confined().await.unwrap_err();
    assert!(refused.to_string().contains("superuser"), "{refused}");
    // The other plane's login, and a login that is a member of both roles.
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
async fn reset_role_in_a_planes_connection_grants_nothing() {
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
async fn every_table_forces_row_level_security_except_those_of_the_version() {
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
    assert_eq!(open, ["_sqlx_migrations", "rulebook_stamps", "rulebook_versions"]);
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
async fn a_wrong_address_of_the_database_is_named_as_such() {
    let database = database().await;
    let postgres = weir_local::shared::postgres();
    let login = Role::App.login().unwrap();
    let password = postgres.url_as(&database.name, login, "wrong");
    let name = postgres.url("weir_missing");
    for (url, reason) in [(password, "password authentication failed"), (name, "does not exist")] {
        let begun = connect(&url, Role::Owner).begin("tests", Scope::Service).await;
        let refused = begun.expect_err("refused").to_string();
        assert!(refused.starts_with("postgres refuses the login: "), "{refused}");
        assert!(refused.contains(reason), "{refused}");
    }
}
