//! Versions have no gaps, and a gate that loads changes misses none.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::*;
use crate::RulebookVersion;

/// Much longer than a statement that waits for no lock.
const DEADLINE: Duration = Duration::from_secs(20);

async fn newest(store: &Store) -> u64 {
    store.rulebook_version().await.unwrap().number
}

/// Publishes the transaction's changes of a tenant, commits, and returns the version.
/// Publishes the tenant in scope and leaves the transaction open.
const PUBLISH: &str = "SELECT weir_publish(current_setting('weir.tenant')::uuid, NULL)";

#[tokio::test]
async fn versions_have_no_gap_and_no_duplicate_under_concurrency() {
    let database = database().await;
    let mut tenants = Vec::new();
    for n in 0..4 {
        let owner = user(&database.app, &format!("{n}@example.com")).await;
        tenants.push(tenant(&database.app, owner).await.0);
    }
    let start = newest(&database.app).await;
    let mut writers = tokio::task::JoinSet::new();
    for n in 0..24 {
        let (app, tenant_id) = (database.app.clone(), tenants[n % 4]);
        writers.spawn(async move {
            let mut tx = tenant_tx(&app, tenant_id).await;
            tx.keys().insert(&key(tenant_id)).await.unwrap();
            // Every third transaction is rolled back, so another one gets its version.
            if n % 3 == 0 {
                raw(&mut tx, PUBLISH).await.unwrap();
                return None;
            }
            tx.publish(tenant_id, None).await.unwrap()
        });
    }
    let versions: BTreeSet<u64> = writers.join_all().await.into_iter().flatten().collect();
    assert_eq!(versions, (start + 1..=start + 16).collect());
    assert_eq!(newest(&database.gate).await, start + 16);
}

/// Only the last statement locks the row that all tenants share.
#[tokio::test]
async fn open_bulk_write_of_one_tenant_delays_no_revocation_of_another() {
    let database = database().await;
    let (busy, rule) = full_tenant(&database, "a@example.com").await;
    let (other, _) = full_tenant(&database, "b@example.com").await;
    let held = database.gate.load_rulebook(None).await.unwrap().version;
    let mut bulk = tenant_tx(&database.app, busy).await;
    bulk.tenants().begin_change(busy).await.unwrap();
    let rows = (0..5_000).map(|_| override_of(busy, rule.id)).map(|new| (new.id, new.body));
    let rows = crate::OverrideBulk { tenant_id: busy, rows: rows.collect(), now: NOW };
    assert_eq!(bulk.overrides().upsert_many(&rows).await.unwrap(), 5_000);
    bulk.audit().append(&audit::entry(Some(busy), Actor::System));

    let revoke = async {
        let mut tx = tenant_tx(&database.app, other).await;
        raw(&mut tx, "SET LOCAL lock_timeout = '1ms'").await.unwrap();
        tx.tenants().begin_change(other).await.unwrap();
        let keys = tx.keys().list(other, &first_page()).await.unwrap().items;
        tx.keys().revoke(other, keys[0].id, NOW).await.unwrap().unwrap();
        tx.audit().append(&audit::entry(Some(other), Actor::System));
        tx.publish(other, None).await.unwrap()
    };
    let revoked = timeout(DEADLINE, revoke).await.expect("the revocation waits for no lock");
    assert_eq!(revoked, Some(held.number + 1));
    assert_eq!(bulk.publish(busy, None).await.unwrap(), Some(held.number + 2));

    let changes = database.gate.load_rulebook(Some(held)).await.unwrap();
    let count = |id| {
        let changed = changes.tenants.iter().find(|tenant| tenant.tenant_id == id).unwrap();
        (changed.version, changed.keys.len(), changed.rules.len(), changed.overrides.len())
    };
    assert_eq!(count(other), (held.number + 1, 1, 0, 0));
    assert_eq!(count(busy), (held.number + 2, 0, 0, 5_000));
}

/// The transaction that began first can publish last. A gate that loads between the two misses neither.
#[tokio::test]
async fn change_that_is_published_late_is_loaded_by_a_gate_that_saw_a_later_start() {
    let database = database().await;
    let (slow, _) = full_tenant(&database, "a@example.com").await;
    let (quick, _) = full_tenant(&database, "b@example.com").await;
    let mut first = tenant_tx(&database.app, slow).await;
    first.rules().insert(&rule(slow, "second"), &Actor::System).await.unwrap();
    write_rule(&database.app, rule(quick, "second")).await;
    let held = database.gate.load_rulebook(None).await.unwrap();
    assert!(held.tenants.iter().all(|tenant| tenant.tenant_id == quick || tenant.rules.len() == 1));
    first.commit().await.unwrap();
    let changes = database.gate.load_rulebook(Some(held.version)).await.unwrap();
    let [changed] = &changes.tenants[..] else { panic!("{changes:?}") };
    assert_eq!((changed.tenant_id, changed.rules.len()), (slow, 1));
}

#[tokio::test]
async fn unserved_change_raises_no_version_and_takes_the_next_number_of_the_tenant() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let before = database.app.rulebook_version().await.unwrap();
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let number = tx.tenants().begin_change(tenant_id).await.unwrap();
    tx.invitations().replace(&accounts::invitation(tenant_id)).await.unwrap();
    tx.tenants().change(tenant_id, Some("Renamed"), Some(true), Some(true), None).await.unwrap();
    tx.audit().append(&audit::entry(Some(tenant_id), Actor::System));
    assert_eq!(tx.publish(tenant_id, None).await.unwrap(), None);
    assert_eq!(database.app.rulebook_version().await.unwrap(), before);
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    assert_eq!(tx.tenants().begin_change(tenant_id).await.unwrap(), number + 1);
}

#[tokio::test]
async fn change_that_was_not_published_is_published_by_its_commit() {
    let database = database().await;
    let (tenant_id, first) = full_tenant(&database, "a@example.com").await;
    let held = database.gate.load_rulebook(None).await.unwrap().version;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.rules().insert(&rule(tenant_id, "second"), &Actor::System).await.unwrap();
    tx.rules().delete(tenant_id, first.id, None).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    let changes = database.gate.load_rulebook(Some(held)).await.unwrap();
    assert_eq!(changes.version.number, held.number + 1);
    assert_eq!(changes.tenants[0].remaining.as_ref().unwrap().rules.len(), 1);

    let mut tx = tenant_tx(&database.app, tenant_id).await;
    assert!(tx.tenants().delete(tenant_id).await.unwrap());
    tx.commit().await.unwrap();
    let changes = database.gate.load_rulebook(Some(changes.version)).await.unwrap();
    assert_eq!(changes.deleted, [tenant_id]);

    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    raw(&mut tx, "UPDATE installation SET enforced = false").await.unwrap();
    tx.commit().await.unwrap();
    let changes = database.gate.load_rulebook(Some(changes.version)).await.unwrap();
    assert_eq!((changes.version.number, changes.enforced), (held.number + 3, false));
}

#[tokio::test]
async fn transaction_that_publishes_twice_loses_neither_change() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let held = database.gate.load_rulebook(None).await.unwrap().version;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    for name in ["second", "third"] {
        tx.rules().insert(&rule(tenant_id, name), &Actor::System).await.unwrap();
        raw(&mut tx, PUBLISH).await.unwrap();
    }
    tx.commit().await.unwrap();
    let changes = database.gate.load_rulebook(Some(held)).await.unwrap();
    assert_eq!((changes.version.number, changes.tenants[0].rules.len()), (held.number + 2, 2));
}

#[tokio::test]
async fn ceilings_that_gates_enforce_are_published_and_others_are_not() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    for (name, published) in [("rules", 0), ("checks_per_second", 1)] {
        for statement in [
            "INSERT INTO tenant_ceilings SELECT id, $1, 7 FROM tenants",
            "UPDATE tenant_ceilings SET value = 8 WHERE name = $1",
            "DELETE FROM tenant_ceilings WHERE name = $1",
            "INSERT INTO default_ceilings VALUES ($1, 7)",
            "UPDATE default_ceilings SET value = 8 WHERE name = $1",
            "DELETE FROM default_ceilings WHERE name = $1",
        ] {
            let before = newest(&database.gate).await;
            let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
            unchecked(statement).bind(name).execute(tx.connection()).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(newest(&database.gate).await, before + published, "{name}: {statement}");
        }
    }
    let changes = database.gate.load_rulebook(None).await.unwrap();
    assert_eq!(changes.tenants[0].tenant_id, tenant_id);
}

#[tokio::test]
async fn gate_loads_writes_and_deletions_after_its_version() {
    let database = database().await;
    let (stays, first) = full_tenant(&database, "a@example.com").await;
    let (goes, _) = full_tenant(&database, "b@example.com").await;
    let all = database.gate.load_rulebook(None).await.unwrap();
    assert_eq!((all.whole, all.tenants.len()), (true, 2));
    for tenant in &all.tenants {
        let counts = (tenant.keys.len(), tenant.rules.len(), tenant.overrides.len());
        assert_eq!((counts, &tenant.remaining), ((1, 1, 1), &None));
    }
    let nothing = database.gate.load_rulebook(Some(all.version)).await.unwrap();
    assert_eq!((nothing.version, nothing.whole, nothing.tenants.len()), (all.version, false, 0));

    let second = write_rule(&database.app, rule(stays, "second")).await;
    let mut tx = tenant_tx(&database.app, goes).await;
    assert!(tx.tenants().delete(goes).await.unwrap());
    let version = tx.publish(goes, None).await.unwrap().unwrap();

    let changes = database.gate.load_rulebook(Some(all.version)).await.unwrap();
    assert_eq!((changes.version.number, &changes.deleted[..]), (version, &[goes][..]));
    let [changed] = &changes.tenants[..] else { panic!("{changes:?}") };
    assert_eq!((changed.tenant_id, changed.version), (stays, version - 1));
    assert_eq!((changed.keys.len(), changed.overrides.len(), &changed.remaining), (0, 0, &None));
    let rules: Vec<_> = changed.rules.iter().map(|rule| (rule.id, &rule.slots[..])).collect();
    assert_eq!(rules, [(second.id, &[0, 2][..])]);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&changed.rules[0].spec).unwrap(),
        json!({ "name": "second", "limits": [] }),
    );

    let mut tx = tenant_tx(&database.app, stays).await;
    tx.rules().delete(stays, first.id, None).await.unwrap().unwrap();
    tx.publish(stays, None).await.unwrap().unwrap();
    let changes = database.gate.load_rulebook(Some(changes.version)).await.unwrap();
    let remaining = changes.tenants[0].remaining.clone().unwrap();
    assert_eq!((remaining.rules, remaining.overrides), (vec![second.id], Vec::new()));
    assert_eq!(remaining.profiles.len(), 1);
    assert_eq!(changes.tenants[0].rules.len(), 0);
    let after = database.gate.load_rulebook(Some(changes.version)).await.unwrap();
    assert_eq!(after.tenants, []);
}

#[tokio::test]
async fn removed_override_is_recorded_and_the_remaining_ids_are_loaded() {
    let database = database().await;
    let (tenant_id, rule) = full_tenant(&database, "a@example.com").await;
    let held = database.gate.load_rulebook(None).await.unwrap().version;
    let second = override_of(tenant_id, rule.id);
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.overrides().insert(&second, &Actor::System).await.unwrap();
    tx.publish(tenant_id, None).await.unwrap().unwrap();
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.overrides().delete(tenant_id, second.id, None).await.unwrap().unwrap();
    tx.publish(tenant_id, None).await.unwrap().unwrap();

    let changes = database.gate.load_rulebook(Some(held)).await.unwrap();
    let changed = &changes.tenants[0];
    assert_eq!((changed.rules.len(), changed.overrides.len()), (0, 0));
    let remaining = changed.remaining.as_ref().expect("an override was removed");
    assert_eq!((&remaining.rules[..], remaining.overrides.len()), (&[rule.id][..], 1));
    assert!(!remaining.overrides.contains(&second.id));
}

#[tokio::test]
async fn tenant_reads_its_own_rules_as_the_gates_do() {
    let database = database().await;
    let (own, _) = full_tenant(&database, "a@example.com").await;
    let (other, _) = full_tenant(&database, "b@example.com").await;
    let rows = database.gate.load_rulebook(None).await.unwrap();
    let served = rows.tenants.iter().find(|tenant| tenant.tenant_id == own).unwrap();
    let mut tx = tenant_tx(&database.app, own).await;
    let id = served.rules[0].id;
    let (rule, overrides) = tx.rulebook().rule(own, id).await.unwrap().unwrap();
    let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!((rule.id, &rule.slots), (id, &served.rules[0].slots));
    assert_eq!(rule.spec, parsed(&served.rules[0].spec));
    let [one] = &overrides[..] else { panic!("{overrides:?}") };
    assert_eq!(one.rule_id, served.overrides[0].rule_id);
    assert_eq!(one.spec, parsed(&served.overrides[0].spec));
    assert!(rule.rulebook_version > 0 && rule.rulebook_version < one.rulebook_version);
    assert_eq!(one.rulebook_version, served.version);

    let namespace = tx.rulebook().namespace(own, "api").await.unwrap();
    assert_eq!((&namespace.rules[..], namespace.overrides), (&[rule][..], overrides));
    let elsewhere = tx.rulebook().namespace(own, "elsewhere").await.unwrap();
    assert_eq!((elsewhere.rules.len(), elsewhere.overrides.len()), (0, 0));
    let theirs = rows.tenants.iter().find(|tenant| tenant.tenant_id == other).unwrap();
    assert_eq!(tx.rulebook().rule(other, theirs.rules[0].id).await.unwrap(), None);
    assert_eq!(tx.rulebook().namespace(other, "api").await.unwrap().rules, []);
    assert_eq!(tx.rulebook().version().await.unwrap(), rows.version);
}

#[tokio::test]
async fn suspension_and_revocation_reach_the_gates_and_use_of_a_key_does_not() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let before = database.gate.load_rulebook(None).await.unwrap();
    let key_id = before.tenants[0].keys[0].id;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.tenants().set_suspended(tenant_id, true).await.unwrap().unwrap();
    let suspended = tx.publish(tenant_id, None).await.unwrap().unwrap();
    let mut tx = database.gate.begin("tests", Scope::Service).await.unwrap();
    tx.keys().used(&[(tenant_id, key_id, NOW)]).await.unwrap();
    tx.commit().await.unwrap();
    let after = database.gate.load_rulebook(Some(before.version)).await.unwrap();
    assert_eq!((after.version.number, after.tenants[0].suspended), (suspended, true));
    assert_eq!(after.tenants[0].keys, []);

    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.keys().revoke(tenant_id, key_id, NOW).await.unwrap().unwrap();
    tx.publish(tenant_id, None).await.unwrap().unwrap();
    let after = database.gate.load_rulebook(Some(after.version)).await.unwrap();
    assert_eq!(after.tenants[0].keys[0].revoked_at, Some(NOW));
    let whole = database.gate.load_rulebook(None).await.unwrap();
    assert_eq!(whole.tenants[0].keys, []);
}

/// After a failover the same numbers can stand for other content.
#[tokio::test]
async fn version_of_another_history_is_unknown_and_everything_is_loaded() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let common = database.gate.load_rulebook(None).await.unwrap().version;
    let (database, fork) = database.fork().await;
    for name in ["second", "third"] {
        write_rule(&database.app, rule(tenant_id, name)).await;
    }
    let held = database.gate.load_rulebook(Some(common)).await.unwrap();
    assert!(!held.whole);
    for (name, number) in [("", 0), ("other", 1), ("others", 2), ("more", 3)] {
        if !name.is_empty() {
            write_rule(&fork.app, rule(tenant_id, name)).await;
        }
        let changes = fork.gate.load_rulebook(Some(held.version)).await.unwrap();
        assert_eq!(changes.version.number, common.number + number);
        let rules = 1 + usize::try_from(number).unwrap();
        assert_eq!((changes.whole, changes.tenants[0].rules.len()), (true, rules));
        let since = fork.gate.load_rulebook(Some(common)).await.unwrap();
        assert!(!since.whole, "both histories contain the version at which they parted");
    }
}

#[tokio::test]
async fn newest_ten_thousand_stamps_are_retained_and_a_version_set_back_ends_their_history() {
    let database = database().await;
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    for statement in [
        "INSERT INTO rulebook_stamps SELECT n, gen_random_uuid() FROM generate_series(1, 10048) n",
        "UPDATE rulebook_versions SET version = 10049",
        "UPDATE rulebook_versions SET version = version + 1",
    ] {
        raw(&mut tx, statement).await.unwrap();
    }
    tx.commit().await.unwrap();
    let newest = database.gate.load_rulebook(None).await.unwrap().version;
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let stamp_of = "SELECT concat_ws(' ', min(version), max(version), count(*))
        FROM rulebook_stamps";
    assert_eq!(texts(&mut tx, stamp_of).await, ["51 10050 10000"]);
    raw(&mut tx, "UPDATE rulebook_versions SET version = 10049").await.unwrap();
    assert_eq!(texts(&mut tx, stamp_of).await, ["51 10049 9999"]);
    tx.commit().await.unwrap();
    assert!(database.gate.load_rulebook(Some(newest)).await.unwrap().whole);
    let unknown = RulebookVersion { number: 60, stamp: 60 };
    assert!(database.gate.load_rulebook(Some(unknown)).await.unwrap().whole);
}

#[tokio::test]
async fn old_changes_are_deleted_unless_a_row_refers_to_them() {
    let database = database().await;
    let (tenant_id, first) = full_tenant(&database, "a@example.com").await;
    let mut write = write_rule(&database.app, rule(tenant_id, "second")).await;
    let version = newest(&database.app).await;
    write.body.name = "renamed".to_owned();
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.rules().update(&write, 1, &Actor::System).await.unwrap().unwrap();
    tx.publish(tenant_id, None).await.unwrap().unwrap();
    let delete = async || {
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        let deleted = tx.housekeeping().delete_old_changes().await.unwrap();
        tx.commit().await.unwrap();
        deleted
    };
    assert_eq!(delete().await, 0);
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    raw(&mut tx, "UPDATE rulebook_versions SET version = version + 10000").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(delete().await, 2, "the tenant's creation and the first write");
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let mut found = Vec::new();
    for id in [first.id, write.id] {
        found.push(tx.rules().find(tenant_id, id).await.unwrap().unwrap().rulebook_version);
    }
    assert!(found[0] > 0 && found[0] < version, "{found:?}");
    assert_eq!(found[1], version + 1);
}

/// A load of many changes can take longer than the deadline by which silent connections are detected.
#[tokio::test]
async fn load_of_changes_that_the_server_cancelled_is_repeated_with_more_time() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let held = database.gate.load_rulebook(None).await.unwrap().version;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.keys().insert(&key(tenant_id)).await.unwrap();
    let published = tx.publish(tenant_id, None).await.unwrap().unwrap();
    let mut slow = database.owner.begin("tests", Scope::Service).await.unwrap();
    raw(&mut slow, "LOCK TABLE rules IN ACCESS EXCLUSIVE MODE").await.unwrap();

    let hasty = database.gate.with_answer_timeout(Duration::from_secs(1));
    let load = tokio::spawn(async move { hasty.load_rulebook(Some(held)).await });
    let waiting = "SELECT pid || ' since ' || waitstart FROM pg_locks
        WHERE NOT granted AND relation = 'rules'::regclass AND waitstart IS NOT NULL";
    let (mut starts, until) = (BTreeSet::new(), Instant::now() + DEADLINE);
    while starts.len() < 2 {
        assert!(Instant::now() < until, "no second attempt: {starts:?}");
        starts.extend(texts(&mut slow, waiting).await);
        tokio::task::yield_now().await;
    }
    drop(slow);
    let changes = timeout(DEADLINE, load).await.unwrap().unwrap().unwrap();
    assert_eq!(changes.version.number, published);
    assert_eq!(changes.tenants.len(), 1);
}
