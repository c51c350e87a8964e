//! Counts of decisions: written by gates, rolled up, retained for a time, read as sums.

use std::time::Duration;

use weir_domain::id::{DenialId, GateId, OverrideId, RequestId};

use weir_domain::latency::Latencies;

use super::*;
use crate::{
    DENIALS_DAYS, DegradedStep, DenialDetail, DenialFilter, DenialRow, DropCount, Flush,
    HistoryFilter, Resolution, Retention, SKETCH_MS, STEP_MS, SketchEntry, SketchRow, StepRow,
    SubjectSearch, TallyCounts, TallyFilter, TallyRange, TallyRow, TopFilter, TopSubject,
};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// The start of the current hour by Postgres' clock, which partitions and roll-ups use.
async fn this_hour(store: &Store) -> Timestamp {
    let mut tx = store.begin("tests", Scope::Service).await.unwrap();
    let ms = texts(&mut tx, "SELECT (extract(epoch FROM now())::bigint * 1000)::text").await;
    let ms: i64 = ms[0].parse().unwrap();
    Timestamp::from_millis(ms / HOUR_MS * HOUR_MS)
}

fn flush(oldest_minute: Timestamp) -> Flush {
    let gate_id = GateId::new(NOW, next());
    Flush { gate_id, boot_id: next(), region: None, oldest_minute, age: Duration::from_millis(5) }
}

fn counts(allowed: u64, denied: u64) -> TallyCounts {
    TallyCounts { allowed, denied, ..TallyCounts::default() }
}

fn row(
    tenant_id: TenantId,
    rule_id: Option<RuleId>,
    minute: Timestamp,
    (allowed, denied): (u64, u64),
) -> TallyRow {
    let namespace = "api".to_owned();
    TallyRow { tenant_id, rule_id, minute, namespace, counts: counts(allowed, denied) }
}

async fn write(store: &Store, flush: &Flush, rows: &[TallyRow]) {
    let mut tx = store.begin("tests", Scope::Gate(flush.gate_id)).await.unwrap();
    tx.tallies().report(flush).await.unwrap();
    tx.tallies().write(flush, rows).await.unwrap();
    tx.commit().await.unwrap();
}

async fn roll_up(store: &Store) -> bool {
    let mut tx = store.begin("tests", Scope::Service).await.unwrap();
    let done = tx.housekeeping().roll_up(&Retention::default()).await.unwrap();
    tx.commit().await.unwrap();
    done
}

/// The allowed and denied checks between each two bounds.
async fn series(
    store: &Store,
    filter: &TallyFilter,
    bounds: &[Timestamp],
    resolution: Resolution,
) -> Vec<(u64, u64)> {
    let mut tx = tenant_tx(store, filter.tenant_id).await;
    let counted = tx.tallies().series(filter, bounds, resolution).await.unwrap();
    counted.counts.iter().map(|counts| (counts.allowed, counts.denied)).collect()
}

fn requests(tenant_id: TenantId) -> TallyFilter {
    TallyFilter { tenant_id, rule_id: None, namespaces: None, region: None }
}

fn some_tenant() -> TenantId {
    TenantId::new(NOW, next())
}

/// Writes one row to each table that a gate writes for a tenant.
pub(super) async fn write_one_of_each(store: &Store, tenant_id: TenantId, rule_id: RuleId) {
    let flush = flush(NOW);
    let mut tx = store.begin("tests", Scope::Gate(flush.gate_id)).await.unwrap();
    tx.tallies().write(&flush, &[row(tenant_id, None, NOW, (1, 1))]).await.unwrap();
    let entry = entry(rule_id, "u-1", (3, 1, 0));
    let sketch = SketchRow { tenant_id, at: NOW, checks: 3, floor: 0, entries: vec![entry] };
    tx.top_subjects().write(&flush, &[sketch]).await.unwrap();
    tx.denials().write(&flush, &[denial(tenant_id, rule_id, NOW)]).await.unwrap();
    tx.samples().write(&flush, &[super::samples::piece(tenant_id, NOW)]).await.unwrap();
    tx.commit().await.unwrap();
}

/// A subject with its checks, the denied ones, and of these those of shadow mode.
fn entry(rule_id: RuleId, user: &str, counts: (u64, u64, u64)) -> SketchEntry {
    let (checks, denied, shadow_denied) = counts;
    SketchEntry { rule_id, subject: json!({ "user": user }), checks, denied, shadow_denied }
}

fn denial(tenant_id: TenantId, rule_id: RuleId, at: Timestamp) -> DenialRow {
    DenialRow {
        id: DenialId::new(at, next()),
        tenant_id,
        at,
        namespace: "api".to_owned(),
        rule_id,
        rule: "login".to_owned(),
        shadow: false,
        subject: json!({ "user": "u-1" }),
        cost: 1,
        retry_after_ms: None,
        degraded: false,
        stands_for: 4,
        detail: DenialDetail {
            request_id: Some(RequestId::from_u128(7)),
            trace_id: Some(u128::MAX),
            rule_revision: Some(3),
            override_id: Some(OverrideId::from_u128(9)),
            also_denied_by: vec!["burst".to_owned()],
            limits: json!([{ "limit": 5 }]),
        },
    }
}

#[tokio::test]
async fn repeated_and_older_flushes_change_nothing_and_gates_are_summed() {
    let database = database().await;
    let tenant_id = some_tenant();
    let hour = this_hour(&database.owner).await;
    let (one, other) = (flush(hour), flush(hour));
    write(&database.gate, &one, &[row(tenant_id, None, hour, (5, 2))]).await;
    write(&database.gate, &one, &[row(tenant_id, None, hour, (9, 2))]).await;
    write(&database.gate, &one, &[row(tenant_id, None, hour, (5, 2))]).await;
    write(&database.gate, &other, &[row(tenant_id, None, hour, (1, 1))]).await;
    let next_minute = hour.plus_ms(MINUTE_MS);
    write(&database.gate, &one, &[row(tenant_id, None, next_minute, (4, 0))]).await;
    let bounds = [0, 1, 2, 3].map(|at| hour.plus_ms(at * MINUTE_MS));
    let read = series(&database.app, &requests(tenant_id), &bounds, Resolution::Minute).await;
    assert_eq!(read, [(10, 3), (4, 0), (0, 0)]);

    let elsewhere = TallyFilter { namespaces: Some(vec!["web".to_owned()]), ..requests(tenant_id) };
    let read = series(&database.app, &elsewhere, &bounds, Resolution::Minute).await;
    assert_eq!(read, [(0, 0); 3]);
    let read = series(&database.app, &requests(some_tenant()), &bounds, Resolution::Minute).await;
    assert_eq!(read, [(0, 0); 3], "another tenant");
}

#[tokio::test]
async fn every_resolution_reads_the_same_before_and_after_a_roll_up_and_with_late_minutes() {
    let database = database().await;
    let tenant_id = some_tenant();
    let hour = this_hour(&database.owner).await;
    let day = Timestamp::from_millis(hour.as_millis() / DAY_MS * DAY_MS);
    let (from, to) = (day.plus_ms(-2 * DAY_MS), hour.plus_ms(HOUR_MS));
    let to_day = day.plus_ms(DAY_MS);
    let old = day.plus_ms(-DAY_MS + 5 * HOUR_MS + 7 * MINUTE_MS);
    let gate = flush(old);
    let rows = [
        row(tenant_id, None, old, (100, 10)),
        row(tenant_id, None, hour.plus_ms(-MINUTE_MS), (20, 2)),
        row(tenant_id, None, hour, (3, 1)),
    ];
    write(&database.gate, &gate, &rows).await;
    let filter = requests(tenant_id);
    let totals = async || {
        let minutes = series(&database.app, &filter, &[from, to], Resolution::Minute).await;
        let hours = series(&database.app, &filter, &[from, to], Resolution::Hour).await;
        let days = series(&database.app, &filter, &[from, to_day], Resolution::Day).await;
        [minutes[0], hours[0], days[0]]
    };
    assert_eq!(totals().await, [(123, 13); 3], "before");
    assert!(roll_up(&database.app).await);
    assert_eq!(totals().await, [(123, 13); 3], "after");
    assert!(!roll_up(&database.app).await, "no completed hour remains");
    assert_eq!(totals().await, [(123, 13); 3], "again");

    let late = flush(old);
    write(&database.gate, &late, &[row(tenant_id, None, old, (7, 0))]).await;
    assert_eq!(totals().await, [(130, 13); 3], "late, before it is rolled up");
    assert!(roll_up(&database.app).await);
    assert_eq!(totals().await, [(130, 13); 3], "late, after");
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    assert_eq!(
        raw(&mut tx, "DELETE FROM tallies_minutes WHERE minute < now() - interval '2 hours'")
            .await
            .unwrap(),
        2
    );
    tx.commit().await.unwrap();
    let days = series(&database.app, &filter, &[from, to_day], Resolution::Day).await;
    assert_eq!(days, [(130, 13)], "counts that were rolled up outlive their minutes");
}

/// The allowed checks of a tenant in a region, by whole requests and by the only rule, and those of one step.
async fn in_region(
    store: &Store,
    tenant_id: TenantId,
    region: Option<&str>,
    (from, to): (Timestamp, Timestamp),
    step: Timestamp,
) -> [u64; 3] {
    let filter = TallyFilter { region: region.map(str::to_owned), ..requests(tenant_id) };
    let mut found = Vec::new();
    for resolution in [Resolution::Minute, Resolution::Hour, Resolution::Day] {
        let whole = series(store, &filter, &[from, to], resolution).await[0].0;
        let mut tx = tenant_tx(store, tenant_id).await;
        let range = TallyRange { from, to, resolution };
        let top = tx.tallies().top_rules(&filter, range, true, 5).await.unwrap().counts;
        let of_rule = top.iter().map(|rule| rule.counts.allowed).sum();
        let rules = tx.tallies().series_of_rules(&filter, &[from, to], resolution).await.unwrap();
        let rules = rules.counts.values().map(|steps| steps[0].allowed);
        assert_eq!(rules.sum::<u64>(), of_rule);
        let bounds = [step, step.plus_ms(STEP_MS)];
        let steps = tx.tallies().steps(&filter, &bounds).await.unwrap().counts;
        let latencies = tx.tallies().latencies(&filter, &bounds).await.unwrap();
        assert_eq!(u64::from(latencies[0].counts()[0]), steps[0].allowed);
        found.push([whole, of_rule, steps[0].allowed]);
    }
    assert_eq!(found, [found[0]; 3], "every resolution");
    found[0]
}

/// Each gate counts a number of its own, so each sum tells which gates are in it.
#[tokio::test]
async fn counts_of_the_regions_add_up_to_those_of_all_before_and_after_a_roll_up() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let rule_id = Some(write_rule(&database.app, rule(tenant_id, "login")).await.id);
    let hour = this_hour(&database.owner).await;
    let day = Timestamp::from_millis(hour.as_millis() / DAY_MS * DAY_MS);
    let (from, to) = (day.plus_ms(-DAY_MS), day.plus_ms(DAY_MS));
    let old = from.plus_ms(5 * HOUR_MS);
    for (region, count) in [("", 1), ("eu", 10), ("us", 100), ("us", 1_000)] {
        let region = Some(region.to_owned()).filter(|region| !region.is_empty());
        let flush = Flush { region, ..flush(old) };
        let minutes = [old, old.plus_ms(HOUR_MS), hour];
        let of = |minute| {
            [(None, 1), (rule_id, 2)]
                .map(|(rule_id, times)| row(tenant_id, rule_id, minute, (times * count, 1)))
        };
        write(&database.gate, &flush, minutes.map(of).as_flattened()).await;
        let latencies = Some(Latencies::from_counts([u32::try_from(count).unwrap()]));
        let (namespace, counts) = ("api".to_owned(), counts(count, 1));
        let step = StepRow { tenant_id, rule_id: None, at: hour, namespace, counts, latencies };
        let mut tx = database.gate.begin("tests", Scope::Gate(flush.gate_id)).await.unwrap();
        tx.tallies().write_steps(&flush, &[step]).await.unwrap();
        tx.commit().await.unwrap();
    }
    let all = async || {
        let read = |region| in_region(&database.app, tenant_id, region, (from, to), hour);
        [read(None).await, read(Some("")).await, read(Some("eu")).await, read(Some("us")).await]
    };
    let counted = [[3_333, 6_666, 1_111], [3, 6, 1], [30, 60, 10], [3_300, 6_600, 1_100]];
    assert_eq!(all().await, counted, "before");
    assert!(roll_up(&database.app).await);
    assert_eq!(all().await, counted, "after");
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let rows = texts(
        &mut tx,
        "SELECT region || ' ' || count(*) FROM tallies_days GROUP BY region ORDER BY region",
    )
    .await;
    assert_eq!(rows, [" 2", "eu 2", "us 2"], "one for each region, whole requests and a rule");
    let unknown = in_region(&database.app, tenant_id, Some("ap"), (from, to), hour).await;
    assert_eq!(unknown, [0; 3]);
}

/// Two control planes roll up at once, and one of them is killed: its transaction ends without a commit.
#[tokio::test]
async fn roll_ups_at_once_and_interrupted_ones_count_each_minute_once() {
    let database = database().await;
    let tenant_id = some_tenant();
    let hour = this_hour(&database.owner).await;
    let gate = flush(hour.plus_ms(-5 * HOUR_MS));
    let minutes = (1..=5).map(|ago| row(tenant_id, None, hour.plus_ms(-ago * HOUR_MS), (10, 1)));
    write(&database.gate, &gate, &minutes.collect::<Vec<_>>()).await;
    let mut killed = database.app.begin("tests", Scope::Service).await.unwrap();
    killed.housekeeping().roll_up(&Retention::default()).await.unwrap();
    drop(killed);
    let at_once = (0..4).map(|_| roll_up(&database.app));
    futures_util::future::join_all(at_once).await;
    roll_up(&database.app).await;
    let bounds = [hour.plus_ms(-5 * HOUR_MS), hour];
    let read = series(&database.app, &requests(tenant_id), &bounds, Resolution::Hour).await;
    assert_eq!(read, [(50, 5)]);
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let rolled_up = texts(&mut tx, "SELECT sum(allowed)::text FROM tallies_hours").await;
    assert_eq!(rolled_up, ["50"]);
}

#[tokio::test]
async fn busiest_rules_come_with_their_names_even_when_deleted() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let login = write_rule(&database.app, rule(tenant_id, "login")).await;
    let deleted = RuleId::new(NOW, next());
    let hour = this_hour(&database.owner).await;
    let before = hour.plus_ms(-HOUR_MS);
    let rows = [
        row(tenant_id, None, before, (50, 50)),
        row(tenant_id, Some(login.id), hour, (1, 9)),
        row(tenant_id, Some(deleted), before, (40, 5)),
    ];
    write(&database.gate, &flush(before), &rows).await;
    roll_up(&database.app).await;
    let top = async |most_asked: bool| {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        let to = hour.plus_ms(HOUR_MS);
        let range = TallyRange { from: before, to, resolution: Resolution::Hour };
        let filter = requests(tenant_id);
        tx.tallies().top_rules(&filter, range, most_asked, 10).await.unwrap().counts
    };
    let denied = top(false).await;
    assert_eq!(denied[0].name, Some(("api".to_owned(), "login".to_owned())));
    assert_eq!((denied[0].counts, denied.len()), (counts(1, 9), 2));
    let asked = top(true).await;
    assert_eq!((asked[0].rule_id, asked[0].name.clone()), (deleted, None));
}

#[tokio::test]
async fn partitions_are_created_and_dropped_and_take_over_earlier_rows() {
    let database = database().await;
    let tenant_id = some_tenant();
    let hour = this_hour(&database.owner).await;
    let days = |count: i64| hour.plus_ms(count * DAY_MS);
    let rows = [-40, -3, 0, 1].map(|at| row(tenant_id, None, days(at), (1, 0)));
    write(&database.gate, &flush(days(-40)), &rows).await;
    let parts = async || {
        let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
        let all = "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'tallies_minutes'::regclass ORDER BY 1";
        texts(&mut tx, all).await
    };
    assert_eq!(parts().await.len(), 5, "four days and the default partition");
    // Tomorrow's partition is missing, and an old one was not dropped.
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let prepare = "DO $$ BEGIN
        EXECUTE format('ALTER TABLE tallies_minutes DETACH PARTITION %I',
            'tallies_minutes_' || to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYYMMDD'));
        EXECUTE format('INSERT INTO tallies_minutes SELECT * FROM %I',
            'tallies_minutes_' || to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYYMMDD'));
        EXECUTE format('DROP TABLE %I',
            'tallies_minutes_' || to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYYMMDD'));
        PERFORM weir_open_day((now() AT TIME ZONE 'UTC')::date - 30);
    END $$";
    raw(&mut tx, prepare).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    tx.housekeeping().open_days().await.unwrap();
    assert!(tx.housekeeping().drop_old_day(&Retention::default()).await.unwrap());
    assert!(!tx.housekeeping().drop_old_day(&Retention::default()).await.unwrap());
    tx.housekeeping().delete_old(&Retention::default()).await.unwrap();
    assert_eq!(tx.housekeeping().days_ahead().await.unwrap(), 3, "today and two more");
    tx.commit().await.unwrap();
    assert_eq!(parts().await.len(), 5);
    let bounds = [days(-60), days(-20), days(2)];
    let read = series(&database.app, &requests(tenant_id), &bounds, Resolution::Minute).await;
    assert_eq!(
        read,
        [(0, 0), (3, 0)],
        "counts that are too old were deleted, and the rest are unchanged"
    );
}

#[tokio::test]
async fn deletions_of_tenants_are_purged_after_a_year() {
    let database = database().await;
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let insert = "INSERT INTO deleted_tenants (tenant_id, version, deleted_at)
        SELECT gen_random_uuid(), n, now() - n * interval '1 day'
        FROM unnest(ARRAY[1, 300, 367, 900]) n";
    raw(&mut tx, insert).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    tx.housekeeping().delete_old(&Retention::default()).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let left = texts(&mut tx, "SELECT version::text FROM deleted_tenants ORDER BY version").await;
    assert_eq!(left, ["1", "300"]);
}

#[tokio::test]
async fn old_day_that_is_being_read_is_dropped_later_and_writers_do_not_queue_behind_it() {
    let database = database().await;
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    raw(&mut tx, "SELECT weir_open_day((now() AT TIME ZONE 'UTC')::date - 30)").await.unwrap();
    tx.commit().await.unwrap();
    let mut reader = database.owner.begin("tests", Scope::Service).await.unwrap();
    raw(&mut reader, "SELECT count(*) FROM tallies_minutes").await.unwrap();
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    let busy = tx.housekeeping().drop_old_day(&Retention::default()).await.unwrap_err();
    assert!(matches!(busy, StoreError::Unavailable(_)), "{busy}");
    drop(tx);
    reader.commit().await.unwrap();
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    assert!(tx.housekeeping().drop_old_day(&Retention::default()).await.unwrap());
}

#[tokio::test]
async fn non_superuser_that_migrates_can_run_the_housekeeping() {
    let database = database().await;
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let policies = texts(
        &mut tx,
        "SELECT c.relname::text FROM pg_class c
        WHERE c.relname ~ '^(tallies_(minutes|hours|days|dropped|minutes_other)|gate_flushes|top_subjects|denials)$'
            AND NOT EXISTS (
                SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND c.relowner = ANY (p.polroles)
            )",
    )
    .await;
    assert_eq!(policies, Vec::<String>::new(), "each has a policy for its owner");
}

#[tokio::test]
async fn denials_and_subjects_are_read_newest_and_busiest_first() {
    let database = database().await;
    let (tenant_id, rule_id) = (some_tenant(), RuleId::new(NOW, next()));
    let entry = |user: &str, checks, denied| entry(rule_id, user, (checks, denied, 0));
    for (floor, entries) in
        [(2, vec![entry("u-1", 10, 1), entry("u-2", 5, 5)]), (3, vec![entry("u-1", 7, 0)])]
    {
        let flush = flush(NOW);
        let mut tx = database.gate.begin("tests", Scope::Gate(flush.gate_id)).await.unwrap();
        let checks = entries.iter().map(|entry| entry.checks).sum();
        let sketch = SketchRow { tenant_id, at: NOW, checks, floor, entries };
        tx.top_subjects().write(&flush, &[sketch]).await.unwrap();
        let rows = [0, 1].map(|at| denial(tenant_id, rule_id, NOW.plus_ms(at)));
        tx.denials().write(&flush, &rows).await.unwrap();
        tx.denials().write(&flush, &rows).await.unwrap();
        let dropped = [DropCount { minute: NOW, dropped: 4 }];
        tx.tallies().write_dropped(&flush, &dropped).await.unwrap();
        tx.commit().await.unwrap();
    }
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let filter = TopFilter {
        tenant_id,
        rule_id: None,
        namespaces: None,
        attribute: None,
        from: NOW,
        to: NOW.plus_ms(1),
        most_asked_first: true,
        limit: 5,
    };
    let (top, floor) = tx.top_subjects().list(&filter).await.unwrap();
    let seen: Vec<_> =
        top.counts.iter().map(|subject| (subject.entry.checks, subject.entry.denied)).collect();
    assert_eq!((seen, floor, top.dropped), (vec![(17, 1), (5, 5)], 5, 8));
    let most_denied = TopFilter { most_asked_first: false, limit: 1, ..filter };
    let (top, _) = tx.top_subjects().list(&most_denied).await.unwrap();
    assert_eq!(top.counts[0].entry.subject, json!({ "user": "u-2" }));

    let filter = DenialFilter { rule_id: Some(rule_id), ..DenialFilter::of(tenant_id) };
    let page = Page { limit: 3, after: None };
    let first = tx.denials().list(&filter, &page).await.unwrap().counts;
    assert_eq!((first.items.len(), first.more), (3, true));
    assert!(first.items.is_sorted_by_key(|denial| std::cmp::Reverse(denial.id)));
    let after = Page { limit: 3, after: first.items.last().map(|denial| denial.id) };
    let rest = tx.denials().list(&filter, &after).await.unwrap().counts;
    assert_eq!((rest.items.len(), rest.items[0].stands_for), (1, 4));
    let newer = DenialFilter { newer_than: Some(first.items[1].id), ..filter };
    assert_eq!(tx.denials().list(&newer, &page).await.unwrap().counts.items.len(), 1);
}

#[tokio::test]
async fn denials_of_a_request_are_found_with_their_detail_by_their_tenant_alone() {
    let database = database().await;
    let (tenant_id, other) = (some_tenant(), some_tenant());
    let rule_id = RuleId::new(NOW, next());
    let request = RequestId::from_u128(next());
    let mut rows = [0, 1, 2].map(|at| denial(tenant_id, rule_id, NOW.plus_ms(at)));
    rows[0].detail.request_id = Some(request);
    rows[2].detail.request_id = Some(request);
    rows[1].detail = DenialDetail::default();
    let flush = flush(NOW);
    let mut tx = database.gate.begin("tests", Scope::Gate(flush.gate_id)).await.unwrap();
    tx.denials().write(&flush, &rows).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let found = tx.denials().of_request(tenant_id, request, None, 20).await.unwrap();
    assert_eq!(found, [rows[2].clone(), rows[0].clone()]);
    let newest = tx.denials().of_request(tenant_id, request, None, 1).await.unwrap();
    assert_eq!(newest, [rows[2].clone()]);
    let elsewhere = ["web".to_owned()];
    let of_other = tx.denials().of_request(tenant_id, request, Some(&elsewhere), 20).await.unwrap();
    assert_eq!(of_other, [], "another namespace");
    let mut tx = tenant_tx(&database.app, other).await;
    assert_eq!(tx.denials().of_request(other, request, None, 20).await.unwrap(), []);
    assert_eq!(tx.denials().of_request(tenant_id, request, None, 20).await.unwrap(), []);
}

#[tokio::test]
async fn most_denied_subjects_come_first_whichever_plan_joins_their_rules() {
    let database = database().await;
    let owner = user(&database.app, "busy@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let mut entries = Vec::new();
    for (name, mode) in [("one", "enforce"), ("two", "shadow"), ("three", "enforce")] {
        let mut write = rule(tenant_id, name);
        write.body.spec["mode"] = json!(mode);
        let rule_id = write_rule(&database.app, write).await.id;
        entries.extend((1..10).map(|at: u64| {
            let denied = 7 * at % 31 + 1;
            let shadow = if mode == "shadow" { denied } else { 0 };
            entry(rule_id, &at.to_string(), (100, denied, shadow))
        }));
    }
    let flush = flush(NOW);
    let mut tx = database.gate.begin("tests", Scope::Gate(flush.gate_id)).await.unwrap();
    let sketch = SketchRow { tenant_id, at: NOW, checks: 2_700, floor: 0, entries };
    tx.top_subjects().write(&flush, &[sketch]).await.unwrap();
    tx.commit().await.unwrap();
    let (from, to) = (NOW, NOW.plus_ms(1));
    let filter = TopFilter {
        tenant_id,
        rule_id: None,
        namespaces: None,
        attribute: None,
        from,
        to,
        most_asked_first: false,
        limit: 20,
    };
    for join in ["nestloop", "hashjoin", "mergejoin"] {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        for off in ["nestloop", "hashjoin", "mergejoin"].into_iter().filter(|off| *off != join) {
            let sql = "SELECT set_config('enable_' || $1, 'off', true)";
            unchecked(sql).bind(off).execute(tx.connection()).await.unwrap();
        }
        let top = tx.top_subjects().list(&filter).await.unwrap().0.counts;
        let counts = |SketchEntry { denied, shadow_denied, .. }: &SketchEntry| {
            (denied - shadow_denied, *denied)
        };
        let denied: Vec<_> = top.iter().map(|subject| counts(&subject.entry)).collect();
        assert_eq!(denied.len(), 20);
        assert!(denied.is_sorted_by(|a, b| a >= b), "{join}: {denied:?}");
        let of_two =
            |subject: &TopSubject| subject.name.as_ref().is_some_and(|name| name.1 == "two");
        assert!(top.iter().all(|subject| (subject.entry.shadow_denied > 0) == of_two(subject)));
        let (namespace, _) = top[0].name.clone().unwrap();
        for (namespace, found) in [(namespace.as_str(), 20), ("elsewhere", 0)] {
            let filter =
                TopFilter { namespaces: Some(vec![namespace.to_owned()]), ..filter.clone() };
            assert_eq!(tx.top_subjects().list(&filter).await.unwrap().0.counts.len(), found);
        }
    }
}

/// A rule of a tenant with a mode.
async fn rule_in_mode(store: &Store, tenant_id: TenantId, name: &str, mode: &str) -> RuleId {
    let mut write = rule(tenant_id, name);
    write.body.spec["mode"] = json!(mode);
    write_rule(store, write).await.id
}

#[tokio::test]
async fn mode_of_the_rule_decides_about_denials_that_an_earlier_gate_counted() {
    let database = database().await;
    let owner = user(&database.app, "early@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let enforced = rule_in_mode(&database.app, tenant_id, "one", "enforce").await;
    let shadow = rule_in_mode(&database.app, tenant_id, "two", "shadow").await;
    let flush = flush(NOW);
    let mut tx = database.gate.begin("tests", Scope::Gate(flush.gate_id)).await.unwrap();
    let entries = [enforced, shadow].map(|rule| entry(rule, "u-1", (100, 40, 0))).to_vec();
    let sketch = SketchRow { tenant_id, at: NOW, checks: 200, floor: 0, entries };
    tx.top_subjects().write(&flush, &[sketch]).await.unwrap();
    let sql = "UPDATE top_subjects SET entries = (SELECT jsonb_agg(e - 'shadow') FROM jsonb_array_elements(entries) e)";
    unchecked(sql).execute(tx.connection()).await.unwrap();
    tx.commit().await.unwrap();
    let filter = TopFilter {
        tenant_id,
        rule_id: None,
        namespaces: None,
        attribute: None,
        from: NOW,
        to: NOW.plus_ms(1),
        most_asked_first: false,
        limit: 5,
    };
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let top = tx.top_subjects().list(&filter).await.unwrap().0.counts;
    let seen: Vec<_> = top
        .iter()
        .map(|top| (top.entry.rule_id, top.entry.denied, top.entry.shadow_denied))
        .collect();
    assert_eq!(seen, [(enforced, 40, 0), (shadow, 40, 40)]);
}

#[tokio::test]
async fn history_of_a_subject_knows_what_its_sketches_can_be_missing() {
    let database = database().await;
    let (tenant_id, rule_id) = (some_tenant(), RuleId::new(NOW, next()));
    let span = |back: i64| {
        Timestamp::from_millis(NOW.as_millis() / SKETCH_MS * SKETCH_MS).plus_ms(-back * SKETCH_MS)
    };
    let sketch = |back: i64, floor: u64, entries: Vec<SketchEntry>| SketchRow {
        tenant_id,
        at: span(back),
        checks: 900,
        floor,
        entries,
    };
    // One gate knows all subjects, one only the busiest, and the sketch of a third is lost.
    let (exact, busy, lost) = (flush(span(9)), flush(span(9)), flush(span(9)));
    let of_u1 = |denied, shadow| entry(rule_id, "u-1", (denied, denied, shadow));
    let of_u2 = |denied| entry(rule_id, "u-2", (denied, denied, 0));
    let written = [
        (&exact, 40, vec![sketch(3, 0, vec![of_u1(30, 4), of_u2(10)])]),
        (&busy, 500, vec![sketch(2, 90, vec![of_u1(100, 0), of_u2(25)])]),
        (&lost, 70, vec![]),
    ];
    for (back, (flush, denied, sketches)) in [3, 2, 1].into_iter().zip(written) {
        let mut tx = database.gate.begin("tests", Scope::Gate(flush.gate_id)).await.unwrap();
        tx.tallies().report(flush).await.unwrap();
        let minutes = [0, 9].map(|minute| span(back).plus_ms(minute * MINUTE_MS));
        let rows = minutes.map(|minute| row(tenant_id, Some(rule_id), minute, (1, denied / 2)));
        tx.tallies().write(flush, &rows).await.unwrap();
        tx.top_subjects().write(flush, &sketches).await.unwrap();
        tx.commit().await.unwrap();
    }
    let filter = HistoryFilter {
        tenant_id,
        rule_ids: vec![rule_id],
        subjects: vec![json!({ "user": "u-1", "ip": "::1" })],
        from: span(9),
        to: span(0),
    };
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let known = tx.top_subjects().history(&filter).await.unwrap().counts;
    let seen: Vec<_> =
        known.iter().map(|span| (span.at, span.denied, span.shadow_denied, span.unknown)).collect();
    // The floor of the second gate is less than what its sketch does not name.
    assert_eq!(seen, [(span(3), 26, 4, 0), (span(2), 100, 0, 90), (span(1), 0, 0, 70)]);
    assert_eq!(tx.top_subjects().denied_by(&filter).await.unwrap(), [(rule_id, 126, 4)]);
    let late = HistoryFilter { from: span(2), ..filter.clone() };
    assert_eq!(tx.top_subjects().denied_by(&late).await.unwrap(), [(rule_id, 100, 0)]);
    let of_nobody = HistoryFilter { subjects: vec![json!({ "user": "u-3" })], ..filter.clone() };
    let known = tx.top_subjects().history(&of_nobody).await.unwrap().counts;
    let unknown: Vec<_> = known.iter().map(|span| (span.denied, span.unknown)).collect();
    assert_eq!(unknown, [(0, 90), (0, 70)], "the first gate knows that there are none");
    let other = HistoryFilter { tenant_id: some_tenant(), ..filter };
    let mut tx = tenant_tx(&database.app, other.tenant_id).await;
    assert_eq!(tx.top_subjects().history(&other).await.unwrap().counts, []);
    assert_eq!(tx.top_subjects().denied_by(&other).await.unwrap(), []);
}

#[tokio::test]
async fn subjects_are_complete_until_their_sketches_were_written() {
    let database = database().await;
    let tenant_id = some_tenant();
    let flush = flush(NOW);
    let report = async |with_sketches: bool| {
        let mut tx = database.gate.begin("tests", Scope::Gate(flush.gate_id)).await.unwrap();
        tx.tallies().report(&flush).await.unwrap();
        if with_sketches {
            tx.top_subjects().write(&flush, &[]).await.unwrap();
        }
        tx.commit().await.unwrap();
    };
    let filter = TopFilter {
        tenant_id,
        rule_id: None,
        namespaces: None,
        attribute: None,
        from: NOW,
        to: NOW.plus_ms(1),
        most_asked_first: true,
        limit: 5,
    };
    let read = async || {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        let subjects = tx.top_subjects().list(&filter).await.unwrap().0.as_of;
        let page = Page { limit: 1, after: None };
        let denials = tx.denials().list(&DenialFilter::of(tenant_id), &page).await.unwrap().as_of;
        (subjects, denials)
    };
    report(true).await;
    let (first, _) = read().await;
    report(false).await;
    let (second, denials) = read().await;
    assert_eq!(first, second, "the second flush had no sketches");
    assert!(second < denials, "{second:?} {denials:?}");
    report(true).await;
    assert!(read().await.0 > second);
}

#[tokio::test]
async fn busy_subjects_are_found_by_a_part_of_a_value() {
    let database = database().await;
    let (tenant_id, rule_id) = (some_tenant(), RuleId::new(NOW, next()));
    let flush = flush(NOW);
    let mut tx = database.gate.begin("tests", Scope::Gate(flush.gate_id)).await.unwrap();
    let entries = vec![
        entry(rule_id, "Umbrella", (9, 2, 0)),
        entry(rule_id, "umbrella-eu", (90, 80, 0)),
        entry(rule_id, "umbrella-us", (95, 90, 90)),
        entry(rule_id, "globex", (99, 99, 0)),
    ];
    let sketch = SketchRow { tenant_id, at: NOW, checks: 293, floor: 0, entries };
    tx.top_subjects().write(&flush, &[sketch]).await.unwrap();
    tx.commit().await.unwrap();
    let found = async |tenant_id, namespaces: Option<&[String]>, text: &str, from| {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        let filter = SubjectSearch { tenant_id, namespaces, text, from, limit: 5 };
        let found = tx.top_subjects().search(&filter).await.unwrap();
        found.into_iter().map(|one| (one.subject["user"].clone(), one.denied)).collect::<Vec<_>>()
    };
    let expected = [(json!("Umbrella"), 2), (json!("umbrella-eu"), 80), (json!("umbrella-us"), 0)];
    assert_eq!(found(tenant_id, None, "UMBRELLA", NOW).await, expected);
    assert_eq!(found(tenant_id, None, "umbrella", NOW.plus_ms(1)).await, [], "older ones");
    assert_eq!(found(tenant_id, Some(&["x".to_owned()]), "umbrella", NOW).await, []);
    assert_eq!(found(some_tenant(), None, "umbrella", NOW).await, []);
}

#[tokio::test]
async fn gate_writes_for_itself_only_and_a_log_is_capped() {
    let database = database().await;
    let (tenant_id, rule_id) = (some_tenant(), RuleId::new(NOW, next()));
    let (one, other) = (flush(NOW), flush(NOW));
    let mut tx = database.gate.begin("tests", Scope::Gate(one.gate_id)).await.unwrap();
    let refused = tx.tallies().report(&other).await.unwrap_err();
    assert!(refused.to_string().contains("row-level security"), "{refused}");

    let hour = this_hour(&database.owner).await;
    let mut tx = database.gate.begin("tests", Scope::Gate(one.gate_id)).await.unwrap();
    let rows: Vec<_> = (0..9).map(|at| denial(tenant_id, rule_id, hour.plus_ms(at))).collect();
    tx.denials().write(&one, &rows).await.unwrap();
    let others: Vec<_> =
        (0..2).map(|at| denial(some_tenant(), rule_id, hour.plus_ms(at))).collect();
    tx.denials().write(&one, &others).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    let retention = Retention { denials_max: 4, ..Retention::default() };
    tx.housekeeping().delete_old(&retention).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let retained =
        texts(&mut tx, "SELECT count(*)::text FROM denials GROUP BY tenant_id ORDER BY 1").await;
    assert_eq!(retained, ["1", "1", "4"]);
}

#[tokio::test]
async fn steps_are_written_once_and_deleted_after_two_hours_unless_redis_was_away() {
    let database = database().await;
    let (tenant_id, other) = (some_tenant(), some_tenant());
    let now = this_hour(&database.owner).await.plus_ms(30 * MINUTE_MS);
    let flush = flush(now);
    let rule_id = RuleId::new(NOW, next());
    let step = |tenant_id: TenantId, rule_id: Option<RuleId>, back: i64, allowed: u64| StepRow {
        tenant_id,
        rule_id,
        at: now.plus_ms(-back * STEP_MS),
        namespace: "api".to_owned(),
        counts: TallyCounts { allowed, denied: 1, ..TallyCounts::default() },
        latencies: rule_id.is_none().then(|| Latencies::from_counts([0, 3, 5])),
    };
    // 99 checks, some of them without Redis.
    let degraded = |rule_id: Option<RuleId>, back: i64, degraded: u64| {
        let row = step(tenant_id, rule_id, back, 98);
        StepRow { counts: TallyCounts { degraded, ..row.counts }, ..row }
    };
    let rows = [
        step(tenant_id, None, 1, 5),
        step(tenant_id, None, 2, 6),
        step(tenant_id, Some(rule_id), 1, 4),
        step(other, None, 1, 9),
        step(tenant_id, None, 1_000, 7),
        degraded(None, 1_001, 1),
        degraded(Some(rule_id), 1_001, 1),
        degraded(None, 1_002, 0),
        degraded(None, 30_000, 1),
    ];
    let gate = &database.gate;
    for rows in [&rows[..], &[step(tenant_id, None, 1, 50)]] {
        let mut tx = gate.begin("tests", Scope::Gate(flush.gate_id)).await.unwrap();
        tx.tallies().report(&flush).await.unwrap();
        tx.tallies().write_steps(&flush, rows).await.unwrap();
        tx.commit().await.unwrap();
    }
    let bounds: Vec<_> = (0..=3).rev().map(|back| now.plus_ms(-back * STEP_MS)).collect();
    let filter = TallyFilter { tenant_id, rule_id: None, namespaces: None, region: None };
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let counted = tx.tallies().steps(&filter, &bounds).await.unwrap();
    let allowed: Vec<_> = counted.counts.iter().map(|counts| counts.allowed).collect();
    assert_eq!(allowed, [0, 6, 5], "a step is final");
    assert_eq!(counted.as_of.as_millis() % STEP_MS, 0);
    let of_rule = TallyFilter { rule_id: Some(rule_id), ..filter.clone() };
    let counted = tx.tallies().steps(&of_rule, &bounds).await.unwrap();
    assert_eq!(counted.counts.iter().map(|counts| counts.allowed).sum::<u64>(), 4);
    let elsewhere = TallyFilter { namespaces: Some(vec!["mail".to_owned()]), ..filter };
    let counted = tx.tallies().steps(&elsewhere, &bounds).await.unwrap();
    assert_eq!(counted.counts, [TallyCounts::default(); 3]);
    let whole = [bounds[0], bounds[3]];
    let latencies = tx.tallies().latencies(&requests(tenant_id), &whole).await.unwrap();
    assert_eq!(latencies, [Latencies::from_counts([0, 6, 10])]);
    let latencies = tx.tallies().latencies(&elsewhere, &whole).await.unwrap();
    assert_eq!(latencies, [Latencies::default()]);
    drop(tx);

    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    assert_eq!(tx.housekeeping().delete_old_steps(100).await.unwrap(), 4);
    assert_eq!(tx.housekeeping().delete_old_steps(100).await.unwrap(), 0);
    tx.commit().await.unwrap();
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let (from, old) = (now.plus_ms(-40_000 * STEP_MS), now.plus_ms(-1_001 * STEP_MS));
    let found = tx.tallies().degraded(&requests(tenant_id), (from, now), now).await.unwrap();
    let expected =
        DegradedStep { at: old, length_ms: STEP_MS, degraded: 1, checks: 99, most_percent: 1 };
    assert_eq!(found, [expected], "an outage is retained for three days");
}

#[tokio::test]
async fn denials_end_with_their_age() {
    let database = database().await;
    let (tenant_id, rule_id) = (some_tenant(), RuleId::new(NOW, next()));
    let hour = this_hour(&database.owner).await;
    let flush = flush(hour);
    let days = |days: i64| hour.plus_ms(-days * 24 * 60 * 60 * 1000);
    let most = i64::from(DENIALS_DAYS);
    let rows = [most + 1, most - 1, 0].map(|back| denial(tenant_id, rule_id, days(back)));
    let mut tx = database.gate.begin("tests", Scope::Gate(flush.gate_id)).await.unwrap();
    tx.denials().write(&flush, &rows).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    tx.housekeeping().delete_old(&Retention::default()).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let request = RequestId::from_u128(7);
    let left = tx.denials().of_request(tenant_id, request, None, 20).await.unwrap();
    assert_eq!(left, [rows[2].clone(), rows[1].clone()]);
}
