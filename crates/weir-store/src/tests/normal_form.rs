//! The migration that brings e-mail addresses into their normal form, over accounts of the schema before it.

use sqlx::migrate::Migrator;
use sqlx::{Connection as _, PgConnection};

use super::*;
use crate::MIGRATOR;

const NORMALISE_EMAILS: i64 = 20_261_122_060_000;

#[tokio::test]
async fn oldest_account_keeps_an_address_that_several_normalise_to() {
    let url = tokio::task::spawn_blocking(|| {
        let server = weir_local::shared::postgres();
        server.create_database("weir_before_normal_form").unwrap();
        server.url("weir_before_normal_form")
    });
    let mut conn = PgConnection::connect(&url.await.unwrap()).await.unwrap();
    let before =
        MIGRATOR.iter().filter(|migration| migration.version < NORMALISE_EMAILS).cloned().collect();
    Migrator::with_migrations(before).run(&mut conn).await.unwrap();
    unchecked(
        "INSERT INTO users (id, email, name, password_hash, created_at) VALUES
            ('00000000-0000-0000-0000-000000000001', 'Kate@Example.com', 'a', 'x', '2026-01-01'),
            ('00000000-0000-0000-0000-000000000002', '\u{ff4b}ate@example.com', 'b', 'x', '2026-01-02'),
            ('00000000-0000-0000-0000-000000000003', 'ada@example.com', 'c', 'x', '2026-01-03')",
    )
    .execute(&mut conn)
    .await
    .unwrap();
    MIGRATOR.run(&mut conn).await.unwrap();
    let rows = unchecked("SELECT email FROM users ORDER BY id").fetch_all(&mut conn).await.unwrap();
    let emails: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(emails[0], "kate@example.com");
    assert_eq!(emails[1], "duplicate-00000000-0000-0000-0000-000000000002@invalid");
    assert_eq!(emails[2], "ada@example.com");
}
