//! The version has no gaps, and a gate that loads changes misses none.

use std::collections::BTreeSet;

use super::*;

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
async fn gate_that_follows_changes_ends_with_what_a_full_load_gives() {
    let database = database().await;
    let (stays, _) = full_tenant(&database, "a@example.com").await;
    let (goes, _) = full_tenant(&database, "b@example.com").await;
    let all = database.gate.load_rulebook(None).await.unwrap();
    assert_eq!(all.tenants.len(), 2);
    for tenant in &all.tenants {
        let counts = (tenant.keys.len(), tenant.rules.len(), tenant.overrides.len());
        assert_eq!(counts, (1, 1, 1));
    }
    let nothing = database.gate.load_rulebook(Some(all.version)).await.unwrap();
    assert_eq!((nothing.version, nothing.tenants.len()), (all.version, 0));

    write_rule(&database.app, rule(stays, "second")).await;
    let mut tx = tenant_tx(&database.app, goes).await;
    let version = tx.rulebook().bump(goes).await.unwrap();
    assert!(tx.tenants().delete(goes, version, NOW).await.unwrap());
    tx.commit().await.unwrap();

    let delta = database.gate.load_rulebook(Some(all.version)).await.unwrap();
    assert_eq!(delta.version, version);
    assert_eq!(delta.deleted, [goes]);
    let changed: Vec<_> = delta.tenants.iter().map(|tenant| tenant.tenant_id).collect();
    assert_eq!(changed, [stays]);
    let names: Vec<_> = delta.tenants[0].rules.iter().map(|rule| &rule.name).collect();
    assert_eq!(names, ["login", "second"]);
    assert_eq!(database.gate.load_rulebook(None).await.unwrap(), delta);
}

#[tokio::test]
async fn tenant_reads_its_part_as_the_gates_do() {
    let database = database().await;
    let (own, _) = full_tenant(&database, "a@example.com").await;
    let (other, _) = full_tenant(&database, "b@example.com").await;
    let rows = database.gate.load_rulebook(None).await.unwrap();
    let mut tx = tenant_tx(&database.app, own).await;
    let part = tx.rulebook().tenant(own).await.unwrap();
    assert_eq!(part.as_ref(), rows.tenants.iter().find(|tenant| tenant.tenant_id == own));
    assert_eq!(tx.rulebook().tenant(other).await.unwrap(), None);
    assert_eq!(tx.rulebook().version().await.unwrap(), rows.version);
}

#[tokio::test]
async fn suspension_and_revocation_reach_the_gates() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let before = database.gate.load_rulebook(None).await.unwrap();
    let key_id = before.tenants[0].keys[0].id;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.rulebook().bump(tenant_id).await.unwrap();
    tx.tenants().set_suspended(tenant_id, true).await.unwrap().unwrap();
    tx.keys().revoke(tenant_id, key_id, NOW).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    let after = database.gate.load_rulebook(Some(before.version)).await.unwrap();
    assert!(after.tenants[0].suspended);
    assert!(after.tenants[0].keys.is_empty());
}
