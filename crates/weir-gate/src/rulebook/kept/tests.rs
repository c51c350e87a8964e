//! A gate that follows changes has what a whole load gives, whatever changed in whichever order.

mod history;

use std::fmt::Write as _;

use weir_domain::api_key::KeyDigest;
use weir_domain::rulebook::Rulebook;
use weir_store::Store;

use self::history::{History, NAMESPACES, NOW, ROUTES, USERS};
use super::*;

const LOOKS: usize = 120;

#[tokio::test]
async fn following_any_changes_gives_what_a_whole_load_gives() {
    let database = weir_store::test_support::database().await;
    let mut done = BTreeSet::new();
    for seed in 1..=3 {
        let mut history = History::new(database.app.clone(), seed);
        let (mut kept, mut book) = (Kept::default(), Rulebook::default());
        let mut since = None;
        for at in 0..LOOKS {
            for _ in 0..=history.below(3) {
                history.change().await;
            }
            let changes = database.gate.load_rulebook(since).await.unwrap();
            assert!(since.is_none_or(|since| since <= changes.version));
            since = Some(changes.version);
            book = kept.take_in(&book, changes);
            let (whole, fresh) = from_nothing(&database.gate).await;
            assert_eq!(kept.copy, whole.copy, "seed {seed}, change {at}");
            assert_eq!(named(&kept), named(&whole), "seed {seed}, change {at}");
            let now = shown(&book, &history);
            assert_eq!(now, shown(&fresh, &history), "seed {seed}, change {at}");
            if at % 16 == 0 {
                let (read, from_copy) = Kept::from_copy(kept.copy.clone());
                assert_eq!((shown(&from_copy, &history), named(&read)), (now, named(&kept)));
            }
        }
        done.append(&mut history.done);
    }
    assert_eq!(done.len(), 13, "{done:?}");
}

#[tokio::test]
async fn a_change_leaves_other_rules_and_namespaces_as_they_are() {
    let database = weir_store::test_support::database().await;
    let mut history = History::new(database.app.clone(), 1);
    let tenant = history.tenant().await;
    for namespace in ["a", "b", "b"] {
        history.rule(tenant, namespace).await;
    }
    let (mut kept, before) = from_nothing(&database.gate).await;
    history.rule(tenant, "b").await;
    let changes = database.gate.load_rulebook(Some(before.version())).await.unwrap();
    assert_eq!(changes.tenants[0].rules.len(), 1);
    let after = kept.take_in(&before, changes);
    let part = |book: &Rulebook, name| std::ptr::from_ref(book.namespace(tenant, name).unwrap());
    assert_eq!(part(&before, "a"), part(&after, "a"));
    assert_ne!(part(&before, "b"), part(&after, "b"));
    assert_eq!((before.rules(tenant, "b").len(), after.rules(tenant, "b").len()), (2, 3));
    for then in before.rules(tenant, "b") {
        assert!(after.rules(tenant, "b").iter().any(|now| Arc::ptr_eq(then, now)));
    }
}

/// Also after a restart from the disk copy, until a revision comes that can be read.
#[tokio::test]
async fn last_readable_revision_stays_in_force_until_there_is_a_newer_one() {
    let database = weir_store::test_support::database().await;
    let mut history = History::new(database.app.clone(), 1);
    let tenant = history.tenant().await;
    history.rule(tenant, "a").await;
    let (mut kept, before) = from_nothing(&database.gate).await;
    for (mode, named_count) in [("of a later release", 1), ("enforce", 0)] {
        history.rewrite(tenant, "a", mode).await;
        let changes = database.gate.load_rulebook(Some(kept.copy.version)).await.unwrap();
        let after = kept.take_in(&before, changes);
        assert_eq!(named(&kept).len(), named_count, "{mode}");
        let (read, from_copy) = Kept::from_copy(kept.copy.clone());
        assert_eq!(named(&read), named(&kept));
        for book in [&after, &from_copy] {
            let rule = |book: &Rulebook| format!("{:?}", book.rules(tenant, "a")[0].rule);
            let same = rule(book) == rule(&before);
            assert_eq!(same, named_count == 1, "{mode}");
        }
    }
}

async fn from_nothing(store: &Store) -> (Kept, Rulebook) {
    let mut kept = Kept::default();
    let all = store.load_rulebook(None).await.unwrap();
    let book = kept.take_in(&Rulebook::default(), all);
    (kept, book)
}

/// What was left out, in order.
fn named(kept: &Kept) -> Vec<(String, String)> {
    let all = kept.left_out.values().flatten();
    let mut all: Vec<_> = all.map(|it| (it.id.clone(), it.reason.clone())).collect();
    all.sort();
    all
}

/// All that a rulebook answers to what the history may have put in it.
fn shown(book: &Rulebook, history: &History) -> String {
    let mut text = format!("{} of {}\n", book.version(), book.tenant_count());
    for digest in &history.digests {
        let caller = book.caller(&KeyDigest(*digest), NOW);
        writeln!(text, "{:?}", caller.map(|it| (it.tenant, &it.key))).unwrap();
    }
    for tenant in &history.tenants {
        for name in NAMESPACES {
            let Some(namespace) = book.namespace(*tenant, name) else { continue };
            writeln!(text, "{tenant} {name} {:?}", namespace.sample).unwrap();
            for route in ROUTES {
                let request = history::request(name, route);
                let found = namespace.index.as_ref().map(|it| it.candidates(&request));
                writeln!(text, "  {route} {found:?}").unwrap();
            }
            for active in &namespace.rules {
                let exceptions = USERS.map(|it| active.overrides.find(&active.rule, &[it], NOW));
                writeln!(text, "  {:?} {:?} {exceptions:?}", active.id, active.rule).unwrap();
            }
        }
    }
    text
}
