//! The hash chains reveal changes that bypass Weir, even by the owner of the database.

use sqlx::AssertSqlSafe;

use super::super::*;
use super::entry;
use crate::{AuditLog, ChainBreak, ChainId};

const MIN_DAYS: u16 = 30;

/// A tenant with a log of 5 entries.
async fn logged(database: &TestDatabase) -> TenantId {
    let (tenant_id, _) = full_tenant(database, "a@example.com").await;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    for _ in 0..4 {
        tx.audit().append(&entry(Some(tenant_id), Actor::System));
    }
    tx.commit().await.unwrap();
    tenant_id
}

async fn tamper(database: &TestDatabase, sql: &str) {
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    unchecked(AssertSqlSafe(sql.to_owned())).execute(tx.connection()).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn untouched_chains_of_all_logs_verify() {
    let database = database().await;
    let tenant_id = logged(&database).await;
    let person = user(&database.app, "p@example.com").await;
    let actor = Actor::Person { id: person, email: "p@example.com".to_owned() };
    let mut tx = database.app.begin("tests", Scope::User(person)).await.unwrap();
    tx.audit().append(&entry(None, actor));
    tx.audit().append(&entry(None, Actor::Anonymous));
    tx.commit().await.unwrap();
    let chains = database.owner.audit_chains(None).await.unwrap();
    assert_eq!(chains.len(), 3);
    assert_eq!(database.owner.audit_chains(chains.last().copied()).await.unwrap(), []);
    for (chain, entries) in
        [(ChainId::Tenant(tenant_id), 5), (ChainId::Person(person), 1), (ChainId::Installation, 1)]
    {
        assert!(chains.contains(&chain), "{chain}");
        let report = database.owner.verify_audit_chain(chain, MIN_DAYS).await.unwrap();
        assert_eq!((report.broken, report.entries, report.head.seq), (None, entries, entries));
        assert!(database.owner.audit_chain_holds(chain, &report.head).await.unwrap());
        assert_eq!(chain.to_string().parse(), Ok(chain));
    }
}

#[tokio::test]
async fn entries_appended_at_once_make_one_chain() {
    let database = database().await;
    let tenant_id = logged(&database).await;
    let append = || async {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        tx.audit().append(&entry(Some(tenant_id), Actor::System));
        tx.commit().await.unwrap();
    };
    tokio::join!(append(), append(), append(), append(), append());
    let report =
        database.owner.verify_audit_chain(ChainId::Tenant(tenant_id), MIN_DAYS).await.unwrap();
    assert_eq!((report.broken, report.entries), (None, 10));
}

#[tokio::test]
async fn every_direct_change_breaks_the_chain_where_it_happened() {
    let cases = [
        ("UPDATE audit_entries SET actor_label = 'x' WHERE seq = 3", ChainBreak::Changed(3)),
        ("UPDATE audit_entries SET at = at - interval '1 s' WHERE seq = 1", ChainBreak::Changed(1)),
        (
            "UPDATE audit_entries SET before = before || '{\"a\": 1}' WHERE seq = 5",
            ChainBreak::Changed(5),
        ),
        ("UPDATE audit_entries SET hash = sha256('x') WHERE seq = 2", ChainBreak::Changed(2)),
        ("DELETE FROM audit_entries WHERE seq = 1", ChainBreak::Missing(1)),
        ("DELETE FROM audit_entries WHERE seq = 4", ChainBreak::Missing(4)),
        ("DELETE FROM audit_entries WHERE seq = 5", ChainBreak::Missing(5)),
        ("UPDATE audit_chains SET hash = sha256('x')", ChainBreak::Head(5)),
        ("DELETE FROM audit_chains", ChainBreak::Head(5)),
        ("UPDATE audit_chains SET purged_seq = 2", ChainBreak::Purge(2)),
    ];
    let database = database().await;
    let tenant_id = logged(&database).await;
    for (sql, expected) in cases {
        tamper(&database, "CREATE TABLE saved AS SELECT * FROM audit_entries").await;
        tamper(&database, "CREATE TABLE saved_chains AS SELECT * FROM audit_chains").await;
        tamper(&database, sql).await;
        let chains = database.owner.audit_chains(None).await.unwrap();
        assert!(chains.contains(&ChainId::Tenant(tenant_id)), "{sql}");
        let report =
            database.owner.verify_audit_chain(ChainId::Tenant(tenant_id), MIN_DAYS).await.unwrap();
        assert_eq!(report.broken, Some(expected), "{sql}");
        restore(&database).await;
        let report =
            database.owner.verify_audit_chain(ChainId::Tenant(tenant_id), MIN_DAYS).await.unwrap();
        assert_eq!(report.broken, None, "restored after {sql}");
    }
}

async fn restore(database: &TestDatabase) {
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    for sql in [
        "DELETE FROM audit_entries",
        "DELETE FROM audit_chains",
        "ALTER TABLE audit_entries DISABLE TRIGGER audit_entries_chain",
        "INSERT INTO audit_entries SELECT * FROM saved",
        "INSERT INTO audit_chains SELECT * FROM saved_chains",
        "ALTER TABLE audit_entries ENABLE TRIGGER audit_entries_chain",
        "DROP TABLE saved",
        "DROP TABLE saved_chains",
    ] {
        raw(&mut tx, sql).await.unwrap();
    }
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn rewritten_chain_differs_from_a_head_that_was_stored_elsewhere() {
    let database = database().await;
    let tenant_id = logged(&database).await;
    let chain = ChainId::Tenant(tenant_id);
    let before = database.owner.verify_audit_chain(chain, MIN_DAYS).await.unwrap().head;
    tamper(
        &database,
        "WITH forged AS (
            UPDATE audit_entries SET action = 'forged' WHERE seq = 5 RETURNING *
        ), hashed AS (
            SELECT weir_audit_hash(forged::audit_entries, p.hash) AS hash
            FROM forged JOIN audit_entries p ON p.chain = forged.chain AND p.seq = 4
        )
        UPDATE audit_chains SET hash = hashed.hash FROM hashed",
    )
    .await;
    tamper(
        &database,
        "UPDATE audit_entries e SET hash = c.hash FROM audit_chains c WHERE e.seq = 5",
    )
    .await;
    let report = database.owner.verify_audit_chain(chain, MIN_DAYS).await.unwrap();
    assert_eq!(report.broken, None, "the owner of the database can rewrite a whole chain");
    assert!(!database.owner.audit_chain_holds(chain, &before).await.unwrap());
}

/// Changes the first three entries of each chain to what the trigger would have written as many days ago.
async fn age_first_three(database: &TestDatabase, days: u32) {
    let sql = "DO $$
        DECLARE e audit_entries; previous bytea := '';
        BEGIN
            FOR e IN SELECT * FROM audit_entries ORDER BY seq LOOP
                IF e.seq <= 3 THEN e.at := e.at - interval 'DAYS days'; END IF;
                e.hash := weir_audit_hash(e, previous);
                previous := e.hash;
                UPDATE audit_entries SET at = e.at, hash = e.hash WHERE id = e.id;
                UPDATE audit_chains SET hash = e.hash WHERE chain = e.chain;
            END LOOP;
        END $$";
    tamper(database, &sql.replace("DAYS", &days.to_string())).await;
}

#[tokio::test]
async fn purged_chain_still_verifies_and_records_the_purge() {
    let database = database().await;
    let tenant_id = logged(&database).await;
    age_first_three(&database, 40).await;
    let chain = ChainId::Tenant(tenant_id);
    let before = database.owner.verify_audit_chain(chain, MIN_DAYS).await.unwrap().head;
    let purge = |most: u32| {
        let app = &database.app;
        async move {
            let mut tx = app.begin("tests", Scope::Service).await.unwrap();
            let purged = tx.audit().purge(30, most).await.unwrap();
            tx.commit().await.unwrap();
            purged
        }
    };
    assert_eq!((purge(2).await, purge(2).await, purge(2).await), (2, 1, 0));
    let report = database.owner.verify_audit_chain(chain, MIN_DAYS).await.unwrap();
    assert_eq!((report.broken, report.entries, report.head.seq), (None, 4, 7));
    assert!(database.owner.audit_chain_holds(chain, &before).await.unwrap());
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let log = AuditLog::Tenant { id: tenant_id, log_ins: false };
    let newest = tx.audit().list(log, &crate::AuditFilter::default(), &first_page()).await.unwrap();
    let newest = &newest.items[0];
    assert_eq!((newest.action.as_str(), newest.seq), ("audit.purge", 7));
    let after = newest.after.as_ref().unwrap();
    assert_eq!((&after["to_seq"], &after["days"]), (&json!(3), &json!(30)));
    drop(tx);
    // The entries were 40 days old when they were purged: too young for a longer retention.
    let report = database.owner.verify_audit_chain(chain, 41).await.unwrap();
    assert_eq!(report.broken, Some(ChainBreak::Early { seq: 6, days: 41 }));
    tamper(&database, "DELETE FROM audit_entries WHERE seq = 7").await;
    let report =
        database.owner.verify_audit_chain(ChainId::Tenant(tenant_id), MIN_DAYS).await.unwrap();
    assert_eq!(report.broken, Some(ChainBreak::Purge(3)));
}

#[tokio::test]
async fn login_of_the_control_plane_cannot_purge_entries_of_the_last_thirty_days() {
    let database = database().await;
    let tenant_id = logged(&database).await;
    age_first_three(&database, 29).await;
    for call in
        ["weir_purge_audit(1, 1000000)", "weir_purge_audit(29, 1)", "weir_purge_audit(NULL, 1)"]
    {
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        let refused =
            unchecked(AssertSqlSafe(format!("SELECT {call}"))).execute(tx.connection()).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("retained for at least 30 days"), "{call}: {refused}");
    }
    let report =
        database.owner.verify_audit_chain(ChainId::Tenant(tenant_id), MIN_DAYS).await.unwrap();
    assert_eq!((report.broken, report.entries), (None, 5));
}

#[tokio::test]
async fn purge_that_a_replaced_function_made_too_early_is_reported() {
    let database = database().await;
    let tenant_id = logged(&database).await;
    tamper(
        &database,
        "DO $$
        DECLARE source text := pg_get_functiondef('weir_purge_audit'::regproc);
        BEGIN
            EXECUTE replace(replace(source, 'days < 30', 'false'), 'now()) - ', 'now()) + interval ''1 day'' - ');
            PERFORM weir_purge_audit(0, 3);
        END $$",
    )
    .await;
    let chain = ChainId::Tenant(tenant_id);
    let report = database.owner.verify_audit_chain(chain, MIN_DAYS).await.unwrap();
    assert_eq!(report.broken, Some(ChainBreak::Early { seq: 6, days: MIN_DAYS }));
}
