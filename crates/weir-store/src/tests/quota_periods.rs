//! The used units of quotas by period.

use super::*;
use crate::{QUOTA_PERIODS_MAX, QuotaPeriodFilter, QuotaPeriodRow};

const DAY_MS: i64 = 86_400_000;
/// 2026-09-21.
const TODAY: i32 = 20_717;

/// A row of the day that ended this many days before [`NOW`].
fn row(ended_days_ago: i32, subject_key: u128, used: u64) -> QuotaPeriodRow {
    let to = NOW.plus_ms(-i64::from(ended_days_ago) * DAY_MS);
    QuotaPeriodRow {
        rule_id: RuleId::from_u128(7),
        slot: 2,
        subject_key,
        spread: u64::MAX,
        namespace: "api".to_owned(),
        rule: "daily".to_owned(),
        subject: json!({ "user": "u-1" }),
        period: "day".to_owned(),
        starts_on: TODAY - ended_days_ago - 1,
        from: to.plus_ms(-DAY_MS),
        to,
        used,
        limit: 10,
        counted_until: to,
    }
}

fn since(tenant_id: TenantId, days: i32) -> QuotaPeriodFilter {
    let (first_day, end_day) = (TODAY - days, TODAY + 1);
    QuotaPeriodFilter { tenant_id, first_day, end_day, now: NOW, namespaces: None, rule_id: None }
}

async fn record(database: &TestDatabase, tenant_id: TenantId, rows: &[QuotaPeriodRow]) {
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.quota_periods().record(tenant_id, rows).await.unwrap();
    tx.commit().await.unwrap();
}

async fn listed(database: &TestDatabase, filter: &QuotaPeriodFilter) -> Vec<QuotaPeriodRow> {
    let mut tx = tenant_tx(&database.app, filter.tenant_id).await;
    tx.quota_periods().list(filter, &first_page()).await.unwrap().items
}

#[tokio::test]
async fn later_count_replaces_an_earlier_one_and_other_tenants_see_neither() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (own, _) = tenant(&database.app, owner).await;
    let (other, _) = tenant(&database.app, owner).await;
    let first = QuotaPeriodRow { counted_until: NOW.plus_ms(-5_000), ..row(0, 1, 3) };
    record(&database, own, std::slice::from_ref(&first)).await;
    let mut tx = tenant_tx(&database.app, own).await;
    let unfinished = tx.quota_periods().unfinished(own, NOW.plus_ms(-1_000), NOW).await.unwrap();
    assert_eq!(unfinished, [first]);
    record(&database, own, &[row(0, 1, 12)]).await;
    record(&database, own, &[QuotaPeriodRow { counted_until: NOW.plus_ms(-1), ..row(0, 1, 4) }])
        .await;
    assert_eq!(listed(&database, &since(own, 9)).await, [row(0, 1, 12)]);
    assert_eq!(listed(&database, &since(other, 9)).await, []);
    let present = QuotaPeriodFilter { now: NOW.plus_ms(-1), ..since(own, 9) };
    assert_eq!(listed(&database, &present).await, [], "the period has not ended");
    let elsewhere = QuotaPeriodFilter { namespaces: Some(vec!["web".into()]), ..since(own, 9) };
    assert_eq!(listed(&database, &elsewhere).await, []);
    let mut tx = tenant_tx(&database.app, own).await;
    let months = QuotaPeriodFilter { first_day: TODAY - 51, end_day: TODAY - 20, ..since(own, 0) };
    assert_eq!(tx.quota_periods().months(&months).await.unwrap(), [TODAY - 20], "September");
}

#[tokio::test]
async fn rows_of_periods_that_end_together_are_bounded_and_the_most_used_remain() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let rows: Vec<_> =
        (0..=QUOTA_PERIODS_MAX).map(|n| row(1, n.into(), u64::from(n) + 1)).collect();
    record(&database, tenant_id, &rows).await;
    record(&database, tenant_id, &[row(1, 1 << 100, 1_000_000), row(0, 5, 1)]).await;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let filter = since(tenant_id, 9);
    let every = Page { limit: 2 * QUOTA_PERIODS_MAX, after: None };
    let stored = tx.quota_periods().list(&filter, &every).await.unwrap().items;
    let used: Vec<_> = stored.iter().map(|row| row.used).collect();
    assert_eq!(used.len(), QUOTA_PERIODS_MAX as usize + 1, "with the row of the other end");
    assert_eq!(used.iter().filter(|used| **used == 1).count(), 1, "the least used one is missing");
    assert!(tx.quota_periods().is_full(&filter).await.unwrap());
    assert!(!tx.quota_periods().is_full(&since(tenant_id, 1)).await.unwrap());
    let page = tx.quota_periods().list(&filter, &first_page()).await.unwrap();
    assert!(page.more);
    let last = &page.items[49];
    let (id, end) = (last.rule_id, last.to.as_millis());
    let after = Some(("api".to_owned(), "daily".to_owned(), end, id, 2, last.subject_key));
    let next = tx.quota_periods().list(&filter, &Page { limit: 50, after }).await.unwrap();
    assert_eq!(next.items, stored[50..100]);
}

#[tokio::test]
async fn tenants_with_quotas_are_taken_once_until_they_are_due_again() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let take = async |at: Timestamp, find| {
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        let taken = tx.quota_periods().take(at, find, 10).await.unwrap();
        tx.commit().await.unwrap();
        taken
    };
    assert_eq!(take(NOW, true).await, [], "the rule has no quota");
    let mut quota = rule(tenant_id, "quota");
    quota.body.spec = json!({ "name": "quota", "limits": [{ "algorithm": "quota" }] });
    write_rule(&database.app, quota).await;
    assert_eq!(take(NOW, false).await, [], "it is not searched for");
    assert_eq!(take(NOW, true).await, [tenant_id]);
    assert_eq!(take(NOW, true).await, [], "another control plane has it");
    assert_eq!(take(NOW.plus_ms(300_000), false).await, [tenant_id], "five minutes later again");
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.quota_periods().read_next(tenant_id, NOW.plus_ms(301_000)).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(take(NOW.plus_ms(300_999), false).await, []);
    assert_eq!(take(NOW.plus_ms(301_000), false).await, [tenant_id]);
}

#[tokio::test]
async fn old_quota_periods_are_deleted_and_younger_ones_are_not() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    record(&database, tenant_id, &[row(0, 1, 1), row(0, 2, 1), row(1, 1, 1)]).await;
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let sql = "UPDATE quota_periods
        SET period_end = now() - interval '25 months 1 minute' WHERE subject_key = '\\x00000000000000000000000000000001'";
    let older = raw(&mut tx, "UPDATE quota_periods SET rule_id = gen_random_uuid()").await.unwrap();
    assert_eq!((older, raw(&mut tx, sql).await.unwrap()), (3, 2));
    let sql = "UPDATE quota_periods SET period_end = now() - interval '24 months' WHERE subject_key <> '\\x00000000000000000000000000000001'";
    assert_eq!(raw(&mut tx, sql).await.unwrap(), 1);
    tx.commit().await.unwrap();
    let delete = async |most| {
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        let deleted = tx.housekeeping().delete_old_quota_periods(most).await.unwrap();
        tx.commit().await.unwrap();
        deleted
    };
    assert_eq!([delete(1).await, delete(9).await, delete(9).await], [1, 1, 0]);
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    assert_eq!(raw(&mut tx, "SELECT 1 FROM quota_periods").await.unwrap(), 1);
}
