//! Subject hashes: the consequences of one key for all counters of a subject.

use std::collections::BTreeSet;

use weir_domain::algorithm::Kind;
use weir_domain::charge::RuleCharge;
use weir_domain::draft::LimitDraft;
use weir_domain::request::Operation;
use weir_domain::spread::SpreadKey;
use weir_domain::subject::SubjectKey;

use super::fixture::{
    Fixture, charge_of, charge_with_block, connection, log_of_denials, of_kind, one_of_each,
    passed, until, values,
};
use crate::limiter::{Answer, ScriptCheck, WindowCounter};
use crate::placement::Bucket;

fn window(limit: u64, window_ms: u64) -> Vec<LimitDraft> {
    vec![LimitDraft::FixedWindow { limit, window_ms }]
}

const DAY_MS: u64 = 86_400_000;

/// Ten units, one of which returns each day.
fn day_each() -> LimitDraft {
    LimitDraft::TokenBucket { capacity: 10, refill_tokens: 1, refill_interval_ms: DAY_MS }
}

#[tokio::test]
async fn subject_has_one_key_that_lives_as_long_as_its_longest_counter() {
    let fixture = Fixture::by_redis_clock().await;
    let day =
        LimitDraft::TokenBucket { capacity: 10, refill_tokens: 1, refill_interval_ms: 86_400_000 };
    let long = charge_of(1, vec![day]);
    let rules: Vec<_> =
        (2..=20).map(|id| charge_of(id, window(100, 60_000))).chain([long]).collect();
    for _ in 0..3 {
        assert!(passed(&fixture.check(Operation::Consume, 1, &rules).await));
        let dump = fixture.dump().await;
        assert_eq!((dump.len(), fixture.counters().await), (1, 20));
        assert!(dump.values().all(|(_, ttl_ms)| *ttl_ms > 80_000_000), "{dump:?}");
        // These are a part of the rules, and none of them needs the key that long.
        assert!(passed(&fixture.check(Operation::Consume, 1, &rules[..7]).await));
        let dump = fixture.dump().await;
        assert!(dump.values().all(|(_, ttl_ms)| *ttl_ms > 80_000_000), "{dump:?}");
    }
    assert_eq!(fixture.check(Operation::Inspect, 1, &rules[19..]).await[0].remaining, 7);
}

#[tokio::test]
async fn counter_that_matters_no_longer_leaves_the_key_to_the_others() {
    let fixture = Fixture::by_redis_clock().await;
    let rules = [charge_of(1, vec![day_each()]), charge_of(2, vec![day_each()])];
    fixture.check(Operation::Consume, 5, &rules).await;
    let lives_days = async || {
        let (_, ttl_ms) = *fixture.dump().await.values().next().expect("a counter_hash");
        u64::try_from(ttl_ms).expect("it expires").div_ceil(DAY_MS)
    };
    // Each of them would now need the key for a day.
    fixture.check(Operation::Refund, 4, &rules[..1]).await;
    assert_eq!(lives_days().await, 6, "five days and the grace");
    // When only the last counter is left, the key expires with it.
    fixture.check(Operation::Refund, 5, &rules[1..]).await;
    fixture.check(Operation::Consume, 3, &rules[..1]).await;
    fixture.check(Operation::Refund, 3, &rules[..1]).await;
    assert_eq!(lives_days().await, 2, "a day and the grace");
}

#[tokio::test]
async fn check_of_a_thousand_subjects_keeps_them_apart() {
    let fixture = Fixture::new().await;
    let mut rules: Vec<_> = (1..=1_000).map(|id| charge_of(id, window(5, 60_000))).collect();
    for (rule, subject) in rules.iter_mut().zip(1..) {
        rule.subject = SubjectKey(subject);
    }
    for left in [4, 3] {
        let decisions = fixture.check(Operation::Consume, 1, &rules).await;
        assert!(decisions.iter().all(|decision| decision.remaining == left), "{decisions:?}");
    }
    assert_eq!((fixture.dump().await.len(), fixture.counters().await), (1_000, 1_000));
}

#[tokio::test]
async fn thousand_rules_of_a_subject_have_counters_of_their_own() {
    let fixture = Fixture::new().await;
    let limits = || [window(5, 60_000), window(50, 90_000)].concat();
    let rules: Vec<_> = (1..=1_000).map(|id| charge_of(id, limits())).collect();
    fixture.check(Operation::Consume, 1, &rules).await;
    fixture.check(Operation::Consume, 2, &rules[300..301]).await;
    let mut turned = rules.clone();
    turned.reverse();
    let decisions = fixture.check(Operation::Consume, 1, &turned).await;
    for (at, decisions) in decisions.chunks(2).rev().enumerate() {
        let taken = if at == 300 { 4 } else { 2 };
        assert_eq!(
            (decisions[0].remaining, decisions[1].remaining),
            (5 - taken, 50 - taken),
            "rule {at}"
        );
    }
    assert_eq!((fixture.dump().await.len(), fixture.counters().await), (1, 2_000));
}

#[tokio::test]
async fn counter_that_expired_is_as_if_never_used_and_makes_room_though_others_live_on() {
    let fixture = Fixture::with_short_grace().await;
    let (long, short) = (charge_of(1, window(100, 600_000)), charge_of(2, window(1, 1)));
    let both = [long.clone(), short.clone()];
    assert!(passed(&fixture.check(Operation::Consume, 1, &both).await));
    until("the short window is free again", async || {
        passed(&fixture.check(Operation::Consume, 1, std::slice::from_ref(&short)).await)
    })
    .await;

    for id in 3..100 {
        fixture.check(Operation::Consume, 1, &[charge_of(id, window(1, 1))]).await;
    }
    let mut id = 100;
    until("one counter is left beside the long one", async || {
        id += 1;
        fixture.check(Operation::Consume, 1, &[charge_of(id, window(1, 1))]).await;
        fixture.counters().await == 2
    })
    .await;
    assert_eq!(fixture.check(Operation::Inspect, 1, &[long]).await[0].remaining, 99);
}

#[tokio::test]
async fn reset_counters_are_counted_and_the_other_counters_of_the_subject_stay() {
    let fixture = Fixture::new().await;
    let mut limits = one_of_each(3, 60_000);
    limits.push(log_of_denials(3, 60_000));
    let (first, second) = (charge_with_block(1, 5_000, limits.clone()), charge_of(2, limits));
    let rules = [first.clone(), second.clone(), charge_of(3, window(5, 60_000))];
    for _ in 0..2 {
        fixture.check(Operation::Consume, 1, &rules).await;
    }
    let counters = fixture.counters().await;
    assert_eq!(counters, 2 * 8 + 1 + 1, "with the block that the spacing's denial started");
    let before = fixture.check(Operation::Inspect, 1, std::slice::from_ref(&second)).await;
    let reset = async |rule: &RuleCharge| {
        fixture.limiter.reset(fixture.tenant, "test", rule).await.expect("redis answers")
    };
    // The counters of each limit, and the block.
    assert_eq!(reset(&first).await, 9);
    assert_eq!(fixture.counters().await, counters - 9);
    assert_eq!(fixture.check(Operation::Inspect, 1, std::slice::from_ref(&second)).await, before);
    let decisions = fixture.check(Operation::Inspect, 1, std::slice::from_ref(&first)).await;
    assert!(
        passed(&decisions) && decisions.iter().all(|decision| decision.reset_after_ms == 0),
        "{decisions:?}"
    );
    assert_eq!(reset(&first).await, 0);
    assert_eq!(reset(&rules[2]).await, 1);
    assert_eq!(reset(&second).await, 8);
    assert!(fixture.dump().await.is_empty());
}

#[tokio::test]
async fn namespaces_count_a_subject_apart_and_are_reset_apart() {
    let fixture = Fixture::new().await;
    let rule = charge_with_block(1, 5_000, one_of_each(3, 60_000));
    let rules = std::slice::from_ref(&rule);
    let namespaces = ["one", "two", "three"];
    let ask = |operation| {
        let asked = |namespace| ScriptCheck { namespace, ..fixture.asked(operation, 1, rules) };
        fixture.check_all(namespaces.map(asked).into())
    };
    let passes = |answers: Vec<Answer>| -> Vec<bool> {
        let pass = |answer: &Answer| matches!(answer, Answer::Decided(_, all) if passed(all));
        answers.iter().map(pass).collect()
    };
    // The spacing denies the second check, which starts a block.
    assert_eq!(passes(ask(Operation::Consume).await), [true, true, true]);
    assert_eq!(passes(ask(Operation::Consume).await), [false, false, false]);
    let tag = |name| Bucket::of(fixture.tenant, name, SpreadKey::NONE).tag();
    let tags: BTreeSet<_> = namespaces.map(tag).into();
    let found = fixture.dump().await.into_keys();
    let found: BTreeSet<_> =
        found.map(|key| key[6..key.find('}').expect("a tag")].to_owned()).collect();
    assert!(found.iter().map(String::as_str).eq(tags.iter().copied()), "{found:?}");
    let reset = fixture.limiter.reset(fixture.tenant, "two", &rule).await;
    // One counter for each algorithm, and the block.
    assert_eq!(reset.expect("redis answers"), 8);
    assert_eq!(passes(ask(Operation::Inspect).await), [false, true, false]);
}

#[tokio::test]
async fn dead_counters_leave_with_the_next_write_once_they_are_the_larger_half() {
    for limit in [day_each(), LimitDraft::FixedWindow { limit: 100, window_ms: DAY_MS }] {
        let fixture = Fixture::with_short_grace().await;
        let long = [charge_of(1, vec![limit])];
        fixture.check(Operation::Consume, 1, &long).await;
        let short: Vec<_> = (2..=40).map(|id| charge_of(id, window(1, 1))).collect();
        fixture.check(Operation::Consume, 1, &short).await;
        // A hash is searched once a second at most, so writes continue until a search has run.
        until("the long counter is alone", async || {
            fixture.check(Operation::Consume, 1, &long).await;
            fixture.check(Operation::Refund, 1, &long).await;
            fixture.check(Operation::Consume, 1, &long).await;
            fixture.counters().await == 1
        })
        .await;
    }
}

#[tokio::test]
async fn charges_of_one_microsecond_share_an_entry_of_a_log() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![of_kind(Kind::SlidingWindowLog, 100, 60_000)])];
    let checks: Vec<_> = (0..50).map(|_| fixture.asked(Operation::Consume, 1, &rules)).collect();
    fixture.check_all(checks).await;
    let mut connection = connection().await;
    let key = fixture.dump().await.into_keys().next().expect("a log");
    let length: u64 =
        redis::cmd("LLEN").arg(&key).query_async(&mut connection).await.expect("a list");
    assert_eq!(length, 1);
    assert_eq!(fixture.check(Operation::Refund, 20, &rules).await[0].remaining, 70);
    assert_eq!(fixture.check(Operation::Consume, 70, &rules).await[0].remaining, 0);
}

#[tokio::test]
async fn stored_units_of_a_quota_exceed_its_limit_and_can_be_read_after_its_period() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![of_kind(Kind::Quota, 10, 1)])];
    let counter = |subject| WindowCounter {
        namespace: "test",
        spread: rules[0].spread,
        subject,
        rule: rules[0].active.id,
        slot: rules[0].limits()[0].slot,
    };
    let counters = [counter(SubjectKey(rules[0].subject.0 ^ 1)), counter(rules[0].subject)];
    let read = async || {
        fixture.limiter.window_units(fixture.tenant, &counters).await.expect("redis answers")
    };
    assert_eq!(read().await, [None, None]);
    let taken_at = fixture.now();
    fixture.check(Operation::Record, 14, &rules).await;
    fixture.pass_ms(2 * DAY_MS);
    let before = fixture.dump().await;
    let units = read().await[1].expect("the counter is there");
    assert_eq!((units.taken, units.taken_at, units.read_at), (14, taken_at, fixture.now()));
    assert_eq!(read().await[0], None, "another subject");
    assert_eq!(values(fixture.dump().await), values(before), "nothing was written");
    fixture.check(Operation::Consume, 1, &rules).await;
    assert_eq!(read().await[1].expect("there").taken, 1, "the units of the present period");
}
