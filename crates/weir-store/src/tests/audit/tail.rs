//! A reader that follows a log.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::JoinSet;

use super::*;

const WRITERS: usize = 20;
const TRANSACTIONS: usize = 110;
/// One transaction in this number is rolled back after its entry was appended.
const ROLLED_BACK: usize = 11;

/// Runs transactions that append an entry and commit it late. Returns the entries that were committed.
async fn write(store: Store, tenant_id: TenantId, running: Arc<AtomicUsize>) -> Vec<AuditId> {
    let mut committed = Vec::new();
    for at in 0..TRANSACTIONS {
        let entry = entry(Some(tenant_id), Actor::System);
        let mut tx = tenant_tx(&store, tenant_id).await;
        tx.audit().append(&entry);
        // The time in which a wrong order would show: others can commit now.
        for _ in 0..at % 5 {
            tokio::task::yield_now().await;
        }
        if at % ROLLED_BACK == 0 {
            drop(tx);
            continue;
        }
        tx.commit().await.unwrap();
        committed.push(entry.id);
    }
    running.fetch_sub(1, Ordering::SeqCst);
    committed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reader_sees_each_concurrent_entry_exactly_once_and_in_order() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let (log, running) = (log_of(tenant_id), Arc::new(AtomicUsize::new(WRITERS)));
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let before = tx.audit().tail(log, 0, 200).await.unwrap().unwrap();
    drop(tx);
    let mut after = before.last().map_or(0, |row| row.seq);
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        writers.spawn(write(database.app.clone(), tenant_id, Arc::clone(&running)));
    }
    let mut seen = Vec::new();
    loop {
        // Read before the entries, so that the last page is complete.
        let is_last = running.load(Ordering::SeqCst) == 0;
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        let page = tx.audit().tail(log, after, 50).await.unwrap().unwrap();
        drop(tx);
        for row in &page {
            assert_eq!(row.seq, after + 1, "no entry appears later before one that was read");
            after = row.seq;
            seen.push(row.id);
        }
        if page.is_empty() && is_last {
            break;
        }
        tokio::task::yield_now().await;
    }
    let mut committed: Vec<_> = writers.join_all().await.into_iter().flatten().collect();
    assert_eq!(committed.len(), 2_000);
    seen.sort_unstable();
    committed.sort_unstable();
    assert!(seen == committed, "each entry is read exactly once");
}

#[tokio::test]
async fn logs_outside_of_tenants_have_no_common_order() {
    let database = database().await;
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    assert_eq!(tx.audit().tail(AuditLog::Installation, 0, 50).await.unwrap(), None);
}
