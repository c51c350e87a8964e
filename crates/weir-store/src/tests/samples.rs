//! Recorded checks: written by gates in batches, read in order, and bounded in age and size.

use std::time::Duration;

use weir_domain::id::GateId;

use super::*;
use crate::{Flush, Retention, SampleHead, SamplePiece, SampleRow, SampleSpan};

/// A batch of the five seconds before `until`.
pub(super) fn piece(tenant_id: TenantId, until: Timestamp) -> SampleRow {
    let head = SampleHead {
        namespace: "api".to_owned(),
        since: until.plus_ms(-5_000),
        until,
        threshold: u32::MAX,
        seen: 10,
        recorded: 2,
        lost: 0,
        plan: json!({ "attributes": ["user"], "count_by": [["user"]] }),
    };
    SampleRow { tenant_id, part: 0, head, checks: "{\"values\":[],\"checks\":[]}".to_owned() }
}

fn flush() -> Flush {
    let gate_id = GateId::new(NOW, next());
    Flush { gate_id, boot_id: next(), region: None, oldest_minute: NOW, age: Duration::ZERO }
}

async fn write(store: &Store, flush: &Flush, rows: &[SampleRow]) {
    let mut tx = store.begin("tests", Scope::Gate(flush.gate_id)).await.unwrap();
    tx.samples().write(flush, rows).await.unwrap();
    tx.commit().await.unwrap();
}

async fn read(store: &Store, span: &SampleSpan) -> (Vec<SampleHead>, Vec<SamplePiece>) {
    let mut tx = store.begin("tests", Scope::Tenant(span.tenant_id)).await.unwrap();
    let heads = tx.samples().heads(span).await.unwrap();
    (heads, tx.samples().pieces(span, 0).await.unwrap())
}

fn span(tenant_id: TenantId, from: Timestamp, to: Timestamp) -> SampleSpan {
    SampleSpan { tenant_id, namespace: "api".to_owned(), from, to }
}

#[tokio::test]
async fn batches_of_all_gates_are_read_once_in_order() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let tenant = TenantId::new(NOW, next());
    let other = TenantId::new(NOW, next());
    let (one, two) = (flush(), flush());
    let at = |s: i64| NOW.plus_ms(s * 1000);
    let later = SampleRow { checks: "later".to_owned(), ..piece(tenant, at(10)) };
    write(&database.gate, &one, &[later.clone(), piece(tenant, at(5)), piece(other, at(5))]).await;
    write(&database.gate, &one, &[later]).await;
    write(&database.gate, &two, &[piece(tenant, at(60))]).await;
    let (heads, pieces) = read(&database.app, &span(tenant, at(0), at(20))).await;
    assert_eq!(heads, [piece(tenant, at(5)).head, piece(tenant, at(10)).head]);
    assert_eq!(pieces.len(), 2);
    assert_eq!((pieces[1].since, pieces[1].checks.as_str()), (at(5), "later"));
    assert_eq!(
        read(&database.app, &span(tenant, at(5), at(20))).await.0.len(),
        1,
        "only the later batch"
    );
    assert_eq!(read(&database.app, &span(tenant, at(0), at(100))).await.0.len(), 3);
    let foreign = SampleSpan { tenant_id: other, ..span(tenant, at(0), at(100)) };
    let mut tx = database.app.begin("tests", Scope::Tenant(tenant_id)).await.unwrap();
    assert_eq!(tx.samples().heads(&foreign).await.unwrap(), [], "row-level security");
    let extents = tx.samples().extents(tenant_id).await.unwrap();
    assert_eq!((extents[0].seen, extents[0].recorded), (10, 2));
}

#[tokio::test]
async fn gate_writes_only_as_itself() {
    let database = database().await;
    let mut tx = database.gate.begin("tests", Scope::Gate(GateId::new(NOW, 1))).await.unwrap();
    let tenant = TenantId::new(NOW, next());
    assert!(tx.samples().write(&flush(), &[piece(tenant, NOW)]).await.is_err());
}

#[tokio::test]
async fn old_batches_and_those_above_the_size_are_deleted() {
    let database = database().await;
    let tenant = TenantId::new(NOW, next());
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let ms = texts(&mut tx, "SELECT (extract(epoch FROM now())::bigint * 1000)::text").await;
    drop(tx);
    let now = Timestamp::from_millis(ms[0].parse().unwrap());
    let rows: Vec<_> = [0, -10_000, -20_000, -3 * 3_600_000]
        .map(|ms| SampleRow { checks: "x".repeat(100), ..piece(tenant, now.plus_ms(ms)) })
        .into();
    write(&database.gate, &flush(), &rows).await;
    let keep = async |hours, bytes| {
        let retention =
            Retention { samples_hours: hours, samples_bytes_max: bytes, ..Retention::default() };
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        let gone = tx.housekeeping().keep_samples(&retention).await.unwrap();
        tx.commit().await.unwrap();
        gone
    };
    assert_eq!(keep(24, 1_000).await, 0);
    assert_eq!(keep(2, 1_000).await, 1, "too old");
    assert_eq!(keep(2, 200).await, 1, "too many");
    let all = span(tenant, Timestamp::from_millis(0), now.plus_ms(1));
    let left: Vec<_> = read(&database.app, &all).await.0.iter().map(|head| head.until).collect();
    assert_eq!(left, [now.plus_ms(-10_000), now], "the newest batches remain");
}
