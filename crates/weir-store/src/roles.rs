//! The database roles of the planes. They belong to the whole server and are in no dump of a database, so a restore needs them
//! first.

use sqlx::PgConnection;

use crate::error::StoreError;
use crate::store::{Role, Store};

impl Store {
    /// Creates the roles that the policies and rights of the tables name, for a server into which a dump is restored. Must be
    /// called by the future owner of the tables.
    pub async fn create_roles(&self) -> Result<(), StoreError> {
        let mut connection = self.open("BEGIN").await?;
        sqlx::query!(
            "-- store.create_roles
            DO $$
            DECLARE
                wanted text;
            BEGIN
                FOREACH wanted IN ARRAY ARRAY['weir_app', 'weir_gate'] LOOP
                    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
                        EXECUTE format('CREATE ROLE %I NOLOGIN NOINHERIT', wanted);
                    END IF;
                    IF NOT pg_has_role(current_user, wanted, 'MEMBER') THEN
                        EXECUTE format('GRANT %I TO %I', wanted, current_user);
                    END IF;
                END LOOP;
            END
            $$"
        )
        .execute(&mut connection)
        .await?;
        Ok(connection.commit().await?)
    }

    /// Creates the login of backups, or sets the password of an existing one. Must be called by a superuser, unless the login
    /// exists.
    pub async fn create_backup_login(&self, password: &str) -> Result<(), StoreError> {
        let mut connection = self.open("BEGIN").await?;
        sqlx::query!(
            "-- store.create_backup_login
            SELECT weir_create_backup_login($1)",
            password
        )
        .fetch_one(&mut connection)
        .await?;
        Ok(connection.commit().await?)
    }
}

/// Refuses a migrated database whose roles are missing, or that was restored before they existed: policies and rights that
/// name them are missing then, too.
pub(crate) async fn assert_present(connection: &mut PgConnection) -> Result<(), StoreError> {
    let names = [Role::App, Role::Gate].map(|role| role.name().unwrap_or_default().to_owned());
    let missing = sqlx::query_scalar!(
        r#"-- roles.missing
        SELECT wanted AS "wanted!" FROM unnest($1::text[]) AS wanted
        WHERE NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = wanted)"#,
        &names[..],
    )
    .fetch_all(&mut *connection)
    .await?;
    if !missing.is_empty() {
        return Err(StoreError::RestoredWithoutRoles { missing: missing.join(" and ") });
    }
    let without_policies = sqlx::query_scalar!(
        r#"-- roles.without_policies
        SELECT r.rolname::text AS "role!" FROM pg_roles r
        WHERE r.rolname = ANY ($1::text[])
            AND to_regclass('public.rules') IS NOT NULL
            AND NOT EXISTS (SELECT FROM pg_policy p WHERE r.oid = ANY (p.polroles))
        ORDER BY 1"#,
        &names[..],
    )
    .fetch_all(connection)
    .await?;
    if without_policies.is_empty() {
        return Ok(());
    }
    let missing = format!("the policies of {}", without_policies.join(" and "));
    Err(StoreError::RestoredWithoutRoles { missing })
}
