//! What the limiter promises of every algorithm: denials take nothing, peeks write nothing, nothing
//! stays for ever, shadows and refunds keep to themselves.

use std::time::Instant;

use weir_domain::draft::{LimitDraft, RuleDraft};
use weir_domain::matching::subject_key;
use weir_domain::request::Operation;
use weir_domain::rule::Rule;

use super::twin::Random;
use super::world::{
    GRACE_MS, World, charge, charge_of, charge_with_block, connection, draft, log_of_denials,
    one_of_each, passed, shadow_of, values,
};

/// One of each algorithm, and a log of denials.
fn each_kind(units: u64, span_ms: u64) -> Vec<LimitDraft> {
    let mut all = one_of_each(units, span_ms);
    all.push(log_of_denials(units, span_ms));
    all
}

/// Limits that deny nothing in these tests, one of each algorithm.
fn generous() -> Vec<LimitDraft> {
    let mut all = one_of_each(1_000, 60_000);
    all[5] = LimitDraft::Spacing { interval_ms: 1 };
    all
}

#[tokio::test]
async fn denied_check_leaves_every_enforcing_counter_byte_for_byte_unchanged() {
    for strict in one_of_each(3, 4_000) {
        let world = World::new().await;
        let rules = [
            charge_of(1, generous()),
            charge_of(2, vec![strict.clone()]),
            charge_of(3, generous()),
        ];
        world.exhaust(&rules).await;
        assert_eq!(world.counters().await, 15, "all were charged");
        let before = values(world.dump().await);
        for cost in [1, 2, 3, 1_001] {
            world.pass_ms(200);
            let decisions = world.ask(Operation::Consume, cost, &rules).await;
            assert!(!decisions[7].allowed, "{strict:?}");
            assert_eq!(decisions[0].allowed, cost < 1_000, "the others judge by themselves");
            assert_eq!(values(world.dump().await), before, "{strict:?} at cost {cost}");
        }
    }
}

#[tokio::test]
async fn denied_check_changes_a_log_of_denials_and_starts_a_block_and_changes_nothing_else() {
    let world = World::new().await;
    let rules = [
        charge_of(1, generous()),
        charge_with_block(2, 9_000, one_of_each(3, 4_000)),
        charge_of(3, vec![log_of_denials(1_000, 4_000)]),
    ];
    world.ask(Operation::Consume, 1, &rules).await;
    world.pass_ms(1);
    let before = world.dump().await;
    assert!(!passed(&world.ask(Operation::Consume, 1, &rules).await), "by the spacing");
    let after = world.dump().await;
    let tenant = world.tenant;
    let changed =
        after.iter().filter(|(key, (value, _))| before.get(*key).is_none_or(|it| it.0 != *value));
    let changed: Vec<_> = changed.map(|(key, _)| key.as_str()).collect();
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(changed[0].starts_with(&format!("weir:{{{tenant}}}:b:rule_")), "{changed:?}");
    assert!(changed[1].starts_with(&format!("weir:{{{tenant}}}:l:rule_")), "{changed:?}");

    // While it lasts, a block alone denies: it gets no longer, and no log counts that.
    world.pass_ms(8_000);
    let decisions = world.ask(Operation::Consume, 1, &rules).await;
    assert_eq!(decisions[7].retry_after_ms, Some(1_000));
    assert_eq!(values(world.dump().await), values(after));
    world.pass_ms(1_000);
    assert!(passed(&world.ask(Operation::Consume, 1, &rules).await), "the block is over");
}

#[tokio::test]
async fn peek_answers_as_the_check_after_it_and_writes_nothing_like_a_look() {
    for limit in each_kind(3, 4_000) {
        let world = World::new().await;
        let rules = [
            charge_with_block(1, 700, vec![limit.clone()]),
            shadow_of(2, vec![log_of_denials(2, 9_000)]),
        ];
        for step in 0..12 {
            let before = world.dump().await;
            let peeked = world.ask(Operation::Peek, 1, &rules).await;
            for cost in [2, 3, 4, 1_000_000] {
                world.ask(Operation::Peek, cost, &rules).await;
                world.ask(Operation::Inspect, cost, &rules).await;
            }
            let after = world.dump().await;
            for (key, (_, ttl_ms)) in &after {
                assert!(*ttl_ms <= before[key].1, "{key} lives longer, {limit:?}");
            }
            assert_eq!(values(after), values(before), "step {step}, {limit:?}");
            assert_eq!(world.ask(Operation::Consume, 1, &rules).await, peeked, "{step}, {limit:?}");
            world.pass_ms(if step % 3 == 0 { 500 } else { 90 });
        }
    }
}

#[tokio::test]
async fn key_lives_as_long_as_it_matters_and_the_grace_at_most() {
    for limit in each_kind(5, 60_000) {
        for (world, grace_ms) in
            [(World::new().await, GRACE_MS), (World::by_redis_clock().await, 1_000)]
        {
            let supplied = grace_ms == GRACE_MS;
            let mut random = Random(11);
            let rules = [charge_of(1, vec![limit.clone()])];
            for _ in 0..40 {
                let operation =
                    if random.one_in(4) { Operation::Refund } else { Operation::Consume };
                let before = values(world.dump().await);
                let asked_at = Instant::now();
                let decisions = world.ask(operation, random.between(1, 3), &rules).await;
                let reset_ms = i64::try_from(decisions[0].reset_after_ms).expect("small");
                let dump = world.dump().await;
                let elapsed_ms = i64::try_from(asked_at.elapsed().as_millis()).expect("short") + 1;
                for (key, (value, ttl_ms)) in dump {
                    if supplied && before.get(&key) == Some(&value) {
                        continue; // Its life began at an earlier time of the supplied clock.
                    }
                    let most = reset_ms + i64::try_from(grace_ms).expect("small");
                    assert!(ttl_ms <= most + 2, "{ttl_ms} of {most}: {limit:?}");
                    assert!(ttl_ms + elapsed_ms >= reset_ms, "{ttl_ms} of {reset_ms}: {limit:?}");
                }
                world.pass_ms(random.below(9_000));
            }
        }
    }
}

#[tokio::test]
async fn block_expires_with_its_end() {
    let world = World::by_redis_clock().await;
    let rules = [charge_with_block(1, 30_000, vec![LimitDraft::Spacing { interval_ms: 90_000 }])];
    world.exhaust(&rules).await;
    let dump = world.dump().await;
    let (_, ttl_ms) = dump.iter().find(|(key, _)| key.contains(":b:")).expect("a block").1;
    assert!((1..=31_000).contains(ttl_ms), "{ttl_ms}");
}

#[tokio::test]
async fn refused_for_ever_leaves_no_key() {
    let world = World::new().await;
    for (id, limit) in (1..).zip(each_kind(3, 4_000)) {
        if matches!(limit, LimitDraft::Spacing { .. }) {
            continue; // Spacing asks for no units.
        }
        let rules = [charge_with_block(id, 1_000, vec![limit.clone()])];
        let decision = world.ask(Operation::Consume, 4, &rules).await[0];
        assert_eq!((decision.allowed, decision.retry_after_ms), (false, None), "{limit:?}");
    }
    assert!(world.dump().await.is_empty());
}

#[tokio::test]
async fn shadow_rules_are_decided_and_charged_on_their_own() {
    for limit in one_of_each(1, 60_000) {
        let world = World::new().await;
        let enforced = charge_of(1, one_of_each(1_000, 60_000)[..5].to_vec());
        let strict = || vec![limit.clone()];
        let rules = [enforced, shadow_of(2, strict()), shadow_of(3, generous())];
        assert!(passed(&world.ask(Operation::Consume, 1, &rules).await));
        world.pass_ms(1);
        let decisions = world.ask(Operation::Consume, 1, &rules).await;
        assert!(!decisions[5].allowed, "the strict shadow denies: {limit:?}");
        assert_eq!(decisions[0].remaining, 998, "and the enforced rule is charged");
        assert_eq!(decisions[6].remaining, 998, "and so is the other shadow");

        let rules = [charge_of(4, strict()), shadow_of(5, generous())];
        world.ask(Operation::Consume, 1, &rules).await;
        world.pass_ms(1);
        let decisions = world.ask(Operation::Consume, 1, &rules).await;
        assert!(!decisions[0].allowed);
        assert_eq!(decisions[1].remaining, 998, "a shadow is charged while the enforced denies");
    }
}

#[tokio::test]
async fn refund_never_lifts_above_full_and_makes_no_key() {
    for limit in one_of_each(3, 4_000) {
        if matches!(limit, LimitDraft::LeakyBucket { .. }) {
            continue;
        }
        let world = World::new().await;
        let rules = [charge_of(1, vec![limit.clone()])];
        let untouched = world.ask(Operation::Refund, 2, &rules).await[0];
        assert!(world.dump().await.is_empty(), "{limit:?}");
        world.exhaust(&rules).await;
        let decisions = world.ask(Operation::Refund, 1, &rules).await;
        assert!(decisions[0].allowed && decisions[0].remaining == 1, "{limit:?}");
        let refunded = world.ask(Operation::Refund, 1_000_000, &rules).await[0];
        assert_eq!(refunded.remaining, untouched.remaining, "{limit:?}");
        assert!(world.dump().await.is_empty(), "{limit:?} is as if never used");
        for _ in 0..untouched.remaining {
            assert!(passed(&world.ask(Operation::Consume, 1, &rules).await), "{limit:?}");
        }
        assert!(!passed(&world.ask(Operation::Consume, 1, &rules).await), "{limit:?}");
    }
}

#[tokio::test]
async fn nothing_is_given_back_to_leaky_buckets_logs_of_denials_or_shadows() {
    let leaky = one_of_each(3, 4_000).swap_remove(4);
    let world = World::new().await;
    let rules = [
        charge_of(1, vec![leaky]),
        charge_of(2, vec![log_of_denials(3, 4_000)]),
        shadow_of(3, one_of_each(3, 4_000)),
    ];
    for _ in 0..4 {
        world.ask(Operation::Consume, 1, &rules).await;
    }
    let before = values(world.dump().await);
    let decisions = world.ask(Operation::Refund, 2, &rules).await;
    assert_eq!(values(world.dump().await), before);
    assert_eq!((decisions[0].remaining, decisions[0].allowed), (0, false));
    assert_eq!((decisions[1].remaining, decisions[1].allowed), (0, false));
}

#[tokio::test]
async fn keys_hold_nothing_a_caller_sent_and_share_the_tenants_hash_tag() {
    let mallory = "mallory} {*?[x] 🦀";
    let world = World::new().await;
    let limits = one_of_each(1, 4_000);
    let draft = RuleDraft { count_by: vec!["user".into()], block_ms: Some(1_000), ..draft(limits) };
    let mut rule = charge(1, Rule::parse(draft).expect("valid"), 0);
    rule.subject = subject_key(rule.active.rule.count_by(), &[mallory]);
    let rules = [rule];
    world
        .ask_all(vec![
            world.with_key(1, &rules, mallory),
            world.asked(Operation::Consume, 1, &rules),
        ])
        .await;

    assert_eq!(world.counters().await, 9, "seven counters, a block, a record, all in one slot");
    let mut connection = connection().await;
    let keys: Vec<String> = redis::cmd("KEYS")
        .arg("*mallory*")
        .query_async(&mut connection)
        .await
        .expect("redis lists");
    assert!(keys.is_empty(), "{keys:?}");
}

#[tokio::test]
async fn log_keeps_no_more_entries_than_can_matter_however_long_one_hammers() {
    for count_denied in [false, true] {
        let world = World::new().await;
        let limit = LimitDraft::SlidingWindowLog { limit: 5, window_ms: 1_000, count_denied };
        let rules = [charge_of(1, vec![limit])];
        let mut longest = 0;
        let mut connection = connection().await;
        for _ in 0..300 {
            world.ask(Operation::Consume, 1, &rules).await;
            world.pass_ms(37);
            let key = world.dump().await.into_keys().next().expect("a log");
            let length: u64 =
                redis::cmd("LLEN").arg(key).query_async(&mut connection).await.expect("a list");
            longest = longest.max(length);
        }
        assert_eq!(longest, 5, "count_denied: {count_denied}");
    }
}
