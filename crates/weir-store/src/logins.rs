//! Database logins: each plane has its own, which can assume that plane's role and no other.

use std::net::IpAddr;

use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::error::StoreError;
use crate::hosts::Hosts;
use crate::store::{Role, Store};

/// Whether a connection to each host of this address authenticates the server (`sslmode=verify-full`) or stays on the machine.
pub fn is_verified(url: &str) -> Result<bool, StoreError> {
    Ok(Hosts::parse(url)?.options().iter().all(is_verified_host))
}

fn is_verified_host(options: &PgConnectOptions) -> bool {
    let host = options.get_host();
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    let is_local = options.get_socket().is_some()
        || host.starts_with('/')
        || host == "localhost"
        || address.is_some_and(|address| address.is_loopback());
    is_local || matches!(options.get_ssl_mode(), PgSslMode::VerifyFull)
}

impl Store {
    /// Creates the login of a plane, or sets the password of an existing one. Must be called by the owner.
    pub async fn create_login(&self, plane: Role, password: &str) -> Result<(), StoreError> {
        let (Some(role), Some(login)) = (plane.name(), plane.login()) else {
            return Err(StoreError::corrupt("the owner's login is not ours to create"));
        };
        let mut connection = self.open("BEGIN").await?;
        sqlx::query!(
            "-- store.create_login
            SELECT weir_create_login($1, $2, $3)",
            login,
            role,
            password,
        )
        .fetch_one(&mut connection)
        .await?;
        Ok(connection.commit().await?)
    }

    /// Refuses a login with more privileges than its plane needs. An intruder in the process could use them, because
    /// `RESET ROLE` undoes the role that every transaction assumes.
    pub async fn assert_confined(&self) -> Result<(), StoreError> {
        let plane = self.role().name().unwrap_or_default();
        let row = sqlx::query!(
            r#"-- store.assert_confined
            SELECT
                s.rolname AS "login!",
                s.rolsuper AS "superuser!",
                s.rolbypassrls OR s.rolcreaterole OR s.rolcreatedb OR s.rolreplication AS "privileged!",
                EXISTS (SELECT FROM pg_class c WHERE c.relowner = s.oid)
                    OR EXISTS (
                        SELECT FROM pg_database d
                        WHERE d.datname = current_database() AND d.datdba = s.oid
                    ) AS "owner!",
                ARRAY(
                    SELECT r.rolname::text FROM pg_roles r
                    WHERE
                        pg_has_role(s.oid, r.oid, 'MEMBER')
                        AND r.oid <> s.oid
                        AND r.rolname <> $1
                    ORDER BY r.rolname
                ) AS "others!"
            FROM pg_roles s
            WHERE s.rolname = session_user"#,
            plane,
        )
        .fetch_one(&mut self.open("BEGIN READ ONLY").await?)
        .await?;
        let reason = if row.superuser {
            "it is a superuser".to_owned()
        } else if row.privileged {
            "it may bypass row-level security, replicate, or create roles or databases".to_owned()
        } else if row.owner {
            "it owns tables or the database".to_owned()
        } else if !row.others.is_empty() {
            format!("it can become {}", row.others.join(", "))
        } else {
            return Ok(());
        };
        Err(StoreError::Unconfined { login: row.login, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::is_verified;

    #[test]
    fn only_verify_full_is_enough_for_a_postgres_on_another_host() {
        for (url, enough) in [
            ("postgres://weir@db.example.com/weir", false),
            ("postgres://weir@db.example.com/weir?sslmode=disable", false),
            ("postgres://weir@db.example.com/weir?sslmode=prefer", false),
            ("postgres://weir@db.example.com/weir?sslmode=require", false),
            ("postgres://weir@db.example.com/weir?sslmode=verify-ca", false),
            ("postgres://weir@db.example.com/weir?sslmode=verify-full", true),
            ("postgres://weir@10.0.0.7/weir", false),
            ("postgres://weir@127.0.0.1,db.example.com/weir", false),
            ("postgres://weir@127.0.0.1:1,127.0.0.1:2/weir", true),
            ("postgres://weir@127.0.0.1:5433/weir", true),
            ("postgres://weir@localhost/weir", true),
            ("postgres://weir@[::1]/weir", true),
            ("postgres:///weir?host=/run/postgresql", true),
        ] {
            assert_eq!(is_verified(url).unwrap(), enough, "{url}");
        }
        assert!(is_verified("no address").is_err());
    }
}
