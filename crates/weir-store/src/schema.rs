//! Migrates the schema, and compares it with the migrations of this release.

use std::borrow::Cow;

use sqlx::migrate::{Migrate as _, MigrateError, Migration, Migrator};
use sqlx::{PgConnection, PgPool};

use crate::error::StoreError;
use crate::roles;
use crate::store::Store;

/// The migrations, embedded in the crate.
pub static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// The schema after `weir migrate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Migrated {
    /// The schema is that of this release.
    UpToDate,
    /// A newer release migrated the schema, with as many further migrations. Nothing was changed.
    Newer(usize),
}

impl Store {
    /// Migrates the schema. Of two concurrent migrations, the second waits and then has nothing to do. A schema that a newer
    /// release migrated stays as it is.
    pub async fn migrate(&self) -> Result<Migrated, StoreError> {
        migrate(self.pool(), &MIGRATOR.migrations).await
    }

    /// Refuses a schema that lacks a migration of this release, or has migrations of the former series.
    pub async fn assert_schema(&self) -> Result<(), StoreError> {
        let applied = sqlx::query_scalar!(
            r#"-- store.assert_schema
            SELECT weir_schema_versions() AS "versions!""#
        )
        .fetch_one(&mut self.open("BEGIN READ ONLY").await?)
        .await?;
        refuse_former(&applied)?;
        if missing(&MIGRATOR.migrations, &applied) {
            return Err(StoreError::OlderSchema(None));
        }
        Ok(())
    }
}

/// Brings the schema up to a release with these migrations.
pub(crate) async fn migrate(
    pool: &PgPool,
    release: &'static [Migration],
) -> Result<Migrated, StoreError> {
    let mut connection = pool.acquire().await?;
    // The lock is one of the session, so the session ends with this call.
    connection.close_on_drop();
    connection.lock().await.map_err(refused)?;
    let migrator =
        Migrator { migrations: Cow::Borrowed(release), ignore_missing: true, ..Migrator::DEFAULT };
    let connection: &mut PgConnection = &mut connection;
    let table = &migrator.table_name;
    connection.ensure_migrations_table(table).await.map_err(refused)?;
    let applied = connection.list_applied_migrations(table).await.map_err(refused)?;
    let applied: Vec<i64> = applied.iter().map(|migration| migration.version).collect();
    if !applied.is_empty() {
        roles::assert_present(connection).await?;
    }
    refuse_former(&applied)?;
    let further = applied.iter().filter(|version| !migrator.version_exists(**version)).count();
    if further > 0 && missing(release, &applied) {
        return Err(StoreError::corrupt(format!(
            "the schema has {further} migrations that this release does not know, and lacks some of this release: it belongs to \
             another line of releases"
        )));
    }
    migrator.run_direct(None, connection, false).await.map_err(refused)?;
    Ok(if further == 0 { Migrated::UpToDate } else { Migrated::Newer(further) })
}

/// Refuses a database of the series that the first migration of this one replaced.
fn refuse_former(applied: &[i64]) -> Result<(), StoreError> {
    let first = MIGRATOR.iter().map(|migration| migration.version).min();
    if applied.iter().any(|version| first.is_some_and(|first| *version < first)) {
        return Err(StoreError::FormerSchema);
    }
    Ok(())
}

fn missing(release: &[Migration], applied: &[i64]) -> bool {
    release.iter().any(|migration| !applied.contains(&migration.version))
}

fn refused(error: MigrateError) -> StoreError {
    match error {
        MigrateError::Execute(error) => error.into(),
        other => StoreError::Corrupt { what: other.to_string(), source: Some(Box::new(other)) },
    }
}
