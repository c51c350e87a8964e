//! The version has no gaps, and a gate that loads changes misses none.

use std::collections::BTreeSet;

use super::*;
use crate::Left;

#[tokio::test]
async fn versions_have_no_gap_and_no_twin_under_concurrency() {
    let database = database().await;
    let mut tenants = Vec::new();
    for n in 0..4 {
        let owner = user(&database.app, &format!("{n}@example.com")).await;
        tenants.push(tenant(&database.app, owner).await.0);
    }
    let start = database.app.rulebook_version().await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for n in 0..24 {
        let (app, tenant_id) = (database.app.clone(), tenants[n % 4]);
        writers.spawn(async move {
            let mut tx = tenant_tx(&app, tenant_id).await;
            let version = tx.rulebook().bump(tenant_id).await.unwrap();
            // Every third one changes its mind, and its version is given to another.
            if n % 3 == 0 { None } else { tx.commit().await.map(|()| version).ok() }
        });
    }
    let versions: BTreeSet<u64> = writers.join_all().await.into_iter().flatten().collect();
    assert_eq!(versions, (start + 1..=start + 16).collect());
    assert_eq!(database.gate.rulebook_version().await.unwrap(), start + 16);
}

#[tokio::test]
async fn gate_loads_what_was_written_after_its_version_and_learns_what_is_gone() {
    let database = database().await;
    let (stays, first) = full_tenant(&database, "a@example.com").await;
    let (goes, _) = full_tenant(&database, "b@example.com").await;
    let all = database.gate.load_rulebook(None).await.unwrap();
    assert_eq!(all.tenants.len(), 2);
    for tenant in &all.tenants {
        let counts = (tenant.keys.len(), tenant.rules.len(), tenant.overrides.len());
        assert_eq!((counts, &tenant.left), ((1, 1, 1), &None));
    }
    let nothing = database.gate.load_rulebook(Some(all.version)).await.unwrap();
    assert_eq!((nothing.version, nothing.tenants.len()), (all.version, 0));

    let second = write_rule(&database.app, rule(stays, "second")).await;
    let mut tx = tenant_tx(&database.app, goes).await;
    let version = tx.rulebook().bump(goes).await.unwrap();
    assert!(tx.tenants().delete(goes, version, NOW).await.unwrap());
    tx.commit().await.unwrap();

    let changes = database.gate.load_rulebook(Some(all.version)).await.unwrap();
    assert_eq!((changes.version, &changes.deleted[..]), (version, &[goes][..]));
    let [changed] = &changes.tenants[..] else { panic!("{changes:?}") };
    assert_eq!((changed.tenant_id, changed.version), (stays, version - 1));
    assert_eq!((changed.keys.len(), changed.overrides.len(), &changed.left), (0, 0, &None));
    let rules: Vec<_> = changed.rules.iter().map(|it| (it.id, &it.slots[..])).collect();
    assert_eq!(rules, [(second.id, &[0, 2][..])]);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&changed.rules[0].spec).unwrap(),
        json!({ "name": "second", "limits": [] }),
    );

    let mut tx = tenant_tx(&database.app, stays).await;
    tx.rulebook().bump(stays).await.unwrap();
    tx.rules().delete(stays, first.id, None).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    let changes = database.gate.load_rulebook(Some(version)).await.unwrap();
    let left = Left { rules: vec![second.id], overrides: Vec::new() };
    assert_eq!((&changes.tenants[0].left, changes.tenants[0].rules.len()), (&Some(left), 0));
    let after = database.gate.load_rulebook(Some(changes.version)).await.unwrap();
    assert_eq!(after.tenants, []);
}

#[tokio::test]
async fn removed_override_is_noted_and_the_rest_is_named() {
    let database = database().await;
    let (tenant_id, rule) = full_tenant(&database, "a@example.com").await;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let version = tx.rulebook().bump(tenant_id).await.unwrap();
    let second = OverrideWrite { rulebook_version: version, ..override_of(tenant_id, rule.id) };
    tx.overrides().insert(&second).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.rulebook().bump(tenant_id).await.unwrap();
    tx.overrides().delete(tenant_id, second.id, None).await.unwrap().unwrap();
    tx.commit().await.unwrap();

    let changes = database.gate.load_rulebook(Some(version - 1)).await.unwrap();
    let changed = &changes.tenants[0];
    assert_eq!((changed.rules.len(), changed.overrides.len()), (0, 0));
    let left = changed.left.as_ref().expect("something was removed");
    assert_eq!((&left.rules[..], left.overrides.len()), (&[rule.id][..], 1));
    assert!(!left.overrides.contains(&second.id));
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
    let [exception] = &overrides[..] else { panic!("{overrides:?}") };
    assert_eq!(exception.rule_id, served.overrides[0].rule_id);
    assert_eq!(exception.spec, parsed(&served.overrides[0].spec));

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
    let change = async |revoke: bool| {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        let version = tx.rulebook().bump(tenant_id).await.unwrap();
        tx.tenants().set_suspended(tenant_id, true).await.unwrap().unwrap();
        if revoke {
            tx.keys().revoke(tenant_id, key_id, NOW).await.unwrap().unwrap();
        }
        tx.commit().await.unwrap();
        version
    };
    let suspended = change(false).await;
    let mut tx = database.gate.begin("tests", Scope::Service).await.unwrap();
    tx.keys().used(&[(tenant_id, key_id, NOW)]).await.unwrap();
    tx.commit().await.unwrap();
    let after = database.gate.load_rulebook(Some(before.version)).await.unwrap();
    assert!(after.tenants[0].suspended);
    assert_eq!(after.tenants[0].keys, []);

    change(true).await;
    let after = database.gate.load_rulebook(Some(suspended)).await.unwrap();
    assert_eq!(after.tenants[0].keys[0].revoked_at, Some(NOW));
    let whole = database.gate.load_rulebook(None).await.unwrap();
    assert_eq!(whole.tenants[0].keys, []);
}
