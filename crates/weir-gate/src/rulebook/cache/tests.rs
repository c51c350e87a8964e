//! A gate that follows changes serves the same as a gate that loads everything, for all changes in any order.

mod history;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use weir_domain::api_key::KeyDigest;
use weir_domain::rulebook::Rulebook;
use weir_store::Store;
use weir_wire::stored::StoredTenant;

use self::history::{History, NAMESPACES, NOW, PROFILES, ROUTES, USERS};
use super::super::whole_load;
use super::*;

type Tenants = BTreeMap<String, StoredTenant>;

const LOADS: usize = 120;

#[tokio::test]
async fn following_any_changes_gives_what_a_whole_load_gives() {
    let database = weir_store::test_support::database().await;
    let mut done = BTreeSet::new();
    for seed in 1..=3 {
        let mut history = History::new(&database.app, seed);
        let (mut cache, mut book) = (RulebookCache::default(), Rulebook::default());
        let mut since = None;
        for at in 0..LOADS {
            for _ in 0..=history.below(3) {
                history.change().await;
            }
            let changes = database.gate.load_rulebook(since).await.unwrap();
            assert_eq!(changes.whole, since.is_none());
            since = Some(changes.version);
            book = follow(&mut cache, &book, changes);
            let (whole, fresh) = from_nothing(&database.gate).await;
            assert_eq!(cache.uncompiled, whole.uncompiled, "seed {seed}, change {at}");
            assert_eq!(written(&cache, &book), written(&whole, &fresh), "seed {seed}, change {at}");
            assert_eq!(named(&cache), named(&whole), "seed {seed}, change {at}");
            let now = shown(&book, &history);
            assert_eq!(now, shown(&fresh, &history), "seed {seed}, change {at}");
            if at % 16 == 0 {
                let (read, from_snapshot) = read_back(&cache, &book);
                assert_eq!(read.version, cache.version, "seed {seed}, change {at}");
                assert_eq!(read.uncompiled, cache.uncompiled, "seed {seed}, change {at}");
                assert_eq!((shown(&from_snapshot, &history), named(&read)), (now, named(&cache)));
            }
        }
        done.append(&mut history.done);
    }
    assert_eq!(done.len(), 21, "{done:?}");
}

#[tokio::test]
async fn a_change_leaves_other_rules_and_namespaces_as_they_are() {
    let database = weir_store::test_support::database().await;
    let mut history = History::new(&database.app, 1);
    let tenant = history.tenant().await;
    for namespace in ["a", "b", "b"] {
        history.rule(tenant, namespace).await;
    }
    let (mut cache, before) = from_nothing(&database.gate).await;
    history.rule(tenant, "b").await;
    let changes = database.gate.load_rulebook(cache.version()).await.unwrap();
    assert_eq!(changes.tenants[0].rules.len(), 1);
    let after = cache.apply(&before, changes);
    let part = |book: &Rulebook, name| std::ptr::from_ref(book.namespace(tenant, name).unwrap());
    assert_eq!(part(&before, "a"), part(&after, "a"));
    assert_ne!(part(&before, "b"), part(&after, "b"));
    assert_eq!((before.rules(tenant, "b").len(), after.rules(tenant, "b").len()), (2, 3));
    for then in before.rules(tenant, "b") {
        assert!(after.rules(tenant, "b").iter().any(|now| Arc::ptr_eq(then, now)));
    }
}

/// This also holds after a restart from the snapshot.
#[tokio::test]
async fn last_readable_revision_stays_in_force_until_there_is_a_newer_one() {
    let database = weir_store::test_support::database().await;
    let mut history = History::new(&database.app, 1);
    let tenant = history.tenant().await;
    history.rule(tenant, "a").await;
    let (mut cache, before) = from_nothing(&database.gate).await;
    for (mode, named_count) in [("of a later release", 1), ("enforce", 0)] {
        history.rewrite(tenant, "a", mode).await;
        let changes = database.gate.load_rulebook(cache.version()).await.unwrap();
        let after = cache.apply(&before, changes);
        assert_eq!(named(&cache).len(), named_count, "{mode}");
        let (read, from_snapshot) = read_back(&cache, &after);
        assert_eq!(named(&read), named(&cache));
        for book in [&after, &from_snapshot] {
            let rule = |book: &Rulebook| format!("{:?}", book.rules(tenant, "a")[0].rule);
            let same = rule(book) == rule(&before);
            assert_eq!(same, named_count == 1, "{mode}");
        }
    }
}

/// The snapshot that a gate with this cache and this rulebook writes.
fn written(cache: &RulebookCache, book: &Rulebook) -> Snapshot<Tenants> {
    serde_json::from_str(&text(cache, book)).expect("a snapshot")
}

/// The cache and the rulebook of a gate that starts from that snapshot.
fn read_back(cache: &RulebookCache, book: &Rulebook) -> (RulebookCache, Rulebook) {
    let snapshot = serde_json::from_str(&text(cache, book)).expect("a snapshot");
    RulebookCache::from_snapshot(snapshot, None)
}

fn text(cache: &RulebookCache, book: &Rulebook) -> String {
    let snapshot = cache.snapshot(Arc::new(book.clone()), 0, 0);
    serde_json::to_string(&snapshot).expect("a text")
}

/// Of the rules that can be read, a gate stores only the compiled form.
#[tokio::test]
async fn cache_stores_only_rules_that_were_left_out_and_the_snapshot_has_all() {
    let database = weir_store::test_support::database().await;
    let mut history = History::new(&database.app, 1);
    let tenant = history.tenant().await;
    for namespace in ["a", "b"] {
        history.rule(tenant, namespace).await;
    }
    let (mut cache, before) = from_nothing(&database.gate).await;
    let cached = |cache: &RulebookCache| {
        cache.uncompiled.get(&tenant).map_or(0, |uncompiled| uncompiled.stored.rules.len())
    };
    let stored = |snapshot: &Snapshot<Tenants>| snapshot.tenants[&tenant.to_string()].rules.len();
    assert_eq!((cached(&cache), stored(&written(&cache, &before))), (0, 2));
    history.rewrite(tenant, "a", "of a later release").await;
    let changes = database.gate.load_rulebook(cache.version()).await.unwrap();
    let after = cache.apply(&before, changes);
    assert_eq!((cached(&cache), stored(&written(&cache, &after))), (1, 2));
}

fn follow(cache: &mut RulebookCache, held: &Rulebook, mut changes: RulebookChanges) -> Rulebook {
    if !changes.whole {
        return cache.apply(held, changes);
    }
    let (none, parts) = (TenantRules::default(), cache.parts());
    let tenants = std::mem::take(&mut changes.tenants).into_iter();
    let tenants = tenants.map(|tenant| CompiledTenant::after(&none, None, tenant, &parts));
    cache.replace(changes, tenants.collect())
}

async fn from_nothing(store: &Store) -> (RulebookCache, Rulebook) {
    let mut cache = RulebookCache::default();
    let whole = whole_load::load(store.clone(), cache.parts()).await.unwrap().expect("compiled");
    let book = cache.replace(whole.changes, whole.tenants);
    (cache, book)
}

/// A restore or a failover that lost commits continues at versions below, equal to and above the one that a gate holds.
#[tokio::test]
async fn load_from_another_history_replaces_everything_at_lower_equal_and_higher_versions() {
    for (lost, later) in [(6, 2), (4, 4), (2, 7), (3, 0)] {
        let database = weir_store::test_support::database().await;
        let mut history = History::new(&database.app, 4);
        let tenant = history.tenant().await;
        for namespace in NAMESPACES {
            history.rule(tenant, namespace).await;
        }
        let (database, fork) = database.fork().await;
        let mut history = history.with_store(&database.app);
        let mut forked = history.clone().with_store(&fork.app);
        for _ in 0..lost {
            history.rule(tenant, "a").await;
        }
        for _ in 0..later {
            forked.rule(tenant, "b").await;
        }
        let (mut cache, before) = from_nothing(&database.gate).await;
        let generation = before.tenant_generation(tenant);

        let changes = fork.gate.load_rulebook(cache.version()).await.unwrap();
        assert!(changes.whole);
        let after = follow(&mut cache, &before, changes);
        let (whole, fresh) = from_nothing(&fork.gate).await;
        assert_eq!(cache.uncompiled, whole.uncompiled, "{lost} lost, {later} later");
        assert_eq!(shown(&after, &forked), shown(&fresh, &forked), "{lost} lost, {later} later");
        assert_eq!(after.rules(tenant, "a").len(), 1);
        assert_ne!(after.tenant_generation(tenant), generation);

        // Both histories contain the rows that a gate loaded before they parted.
        forked.rule(tenant, "c").await;
        let changes = fork.gate.load_rulebook(cache.version()).await.unwrap();
        assert!(!changes.whole);
        assert_eq!(cache.apply(&after, changes).rules(tenant, "c").len(), 2);
    }
}

/// The rows that were left out, in order.
fn named(cache: &RulebookCache) -> Vec<(String, String)> {
    let all = cache.uncompiled.iter().flat_map(|(_, uncompiled)| &uncompiled.left_out);
    let mut all: Vec<_> =
        all.map(|left_out| (left_out.id.clone(), left_out.reason.clone())).collect();
    all.sort();
    assert_eq!(all.len(), cache.left_out());
    all
}

/// All answers of a rulebook about the things that a history can change.
fn shown(book: &Rulebook, history: &History) -> String {
    let mut text = format!("{} of {}\n", book.version(), book.tenant_count());
    for digest in &history.digests {
        let caller = book.caller(&KeyDigest(*digest), NOW);
        writeln!(text, "{:?}", caller.map(|caller| (caller.tenant, &caller.key))).unwrap();
    }
    for tenant in &history.tenants {
        for name in PROFILES {
            writeln!(text, "{tenant} {name} {:?}", book.profile(*tenant, name)).unwrap();
        }
        for name in NAMESPACES {
            let Some(namespace) = book.namespace(*tenant, name) else { continue };
            writeln!(text, "{tenant} {name} {:?}", namespace.sample).unwrap();
            for route in ROUTES {
                let request = history::request(name, route);
                let found = namespace.index.as_ref().map(|index| index.candidates(&request));
                writeln!(text, "  {route} {found:?}").unwrap();
            }
            for active in &namespace.rules {
                let exceptions =
                    USERS.map(|user| active.overrides.find(&active.rule, &[user], NOW));
                writeln!(text, "  {:?} {:?} {exceptions:?}", active.id, active.rule).unwrap();
            }
        }
    }
    text
}
