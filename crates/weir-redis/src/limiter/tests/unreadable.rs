//! Keys of a wrong type and damaged values affect the checks that need them, and no others.

use weir_domain::algorithm::Kind;
use weir_domain::draft::LimitDraft;
use weir_domain::request::Operation;
use weir_domain::subject::SubjectKey;

use super::fixture::{
    Fixture, charge_of, charge_with_block, connection, log_of_denials, of_kind, one_of_each,
    passed, values,
};
use crate::limiter::Answer;

async fn redis(arguments: &[&[u8]]) {
    let mut command = redis::Cmd::new();
    for argument in arguments {
        command.arg(*argument);
    }
    command.query_async::<()>(&mut connection().await).await.expect("redis does it");
}

/// Replaces every key of the tenant by a value of another type. Returns the keys.
async fn spoil_types(fixture: &Fixture) -> Vec<String> {
    let keys: Vec<String> = fixture.dump().await.into_keys().collect();
    for key in &keys {
        redis(&[b"DEL", key.as_bytes()]).await;
        redis(&[b"SADD", key.as_bytes(), b"not what it should be"]).await;
    }
    keys
}

fn five_a_minute() -> LimitDraft {
    LimitDraft::FixedWindow { limit: 5, window_ms: 60_000 }
}

#[tokio::test]
async fn key_of_a_wrong_type_makes_its_check_unreadable_and_other_checks_are_decided_as_always() {
    let mut limits: Vec<Vec<LimitDraft>> =
        one_of_each(3, 60_000).into_iter().map(|limit| vec![limit]).collect();
    limits.push(one_of_each(3, 60_000));
    for limits in limits {
        let fixture = Fixture::new().await;
        let bad = [charge_of(1, limits.clone())];
        fixture.check(Operation::Consume, 1, &bad).await;
        let keys = spoil_types(&fixture).await;
        let before = values(fixture.dump().await);
        let mut good = [charge_of(1, vec![five_a_minute()])];
        good[0].subject = SubjectKey(77);
        for operation in
            [Operation::Consume, Operation::Peek, Operation::Inspect, Operation::Refund]
        {
            let answers = fixture
                .check_all(vec![
                    fixture.asked(Operation::Consume, 1, &good),
                    fixture.asked(operation, 1, &bad),
                    fixture.asked(Operation::Consume, 1, &good),
                    fixture.with_key(1, &bad, "key"),
                    fixture.asked(Operation::Refund, 2, &good),
                ])
                .await;
            for at in [1, 3] {
                let Answer::Unreadable(key) = &answers[at] else { panic!("{:?}", answers[at]) };
                assert!(keys.contains(key), "{key} of {keys:?}");
            }
            for (at, remaining) in [(0, 4), (2, 3), (4, 5)] {
                let Answer::Decided(_, decisions) = &answers[at] else {
                    panic!("{:?}", answers[at])
                };
                assert_eq!(decisions[0].remaining, remaining, "check {at}, {limits:?}");
            }
        }
        assert_eq!(values(fixture.dump().await), before, "nothing of {limits:?} is written");
    }
}

#[tokio::test]
async fn check_with_one_unreadable_key_of_several_charges_nothing() {
    for kind in [":s:", ":l:", ":i:"] {
        let fixture = Fixture::new().await;
        let rules = [
            charge_of(1, vec![five_a_minute()]),
            charge_with_block(2, 60_000, vec![log_of_denials(1, 60_000)]),
        ];
        fixture.check_all(vec![fixture.with_key(1, &rules, "key")]).await;
        // The second check is denied, which starts the block.
        fixture.check(Operation::Consume, 1, &rules).await;
        let key =
            fixture.dump().await.into_keys().find(|key| key.contains(kind)).expect("it is there");
        redis(&[b"DEL", key.as_bytes()]).await;
        redis(&[b"SADD", key.as_bytes(), b"x"]).await;
        let before = values(fixture.dump().await);
        let answers = fixture.check_all(vec![fixture.with_key(1, &rules, "key")]).await;
        // A readable record is the answer, without the counters.
        let expected = match answers.as_slice() {
            [Answer::Unreadable(unreadable)] => *unreadable == key,
            [Answer::Repeated(..)] => kind != ":i:",
            _ => false,
        };
        assert!(expected, "{kind}: {answers:?}");
        if kind != ":i:" {
            let answers =
                fixture.check_all(vec![fixture.asked(Operation::Consume, 1, &rules)]).await;
            assert_eq!(answers, [Answer::Unreadable(key)], "{kind}");
        }
        assert_eq!(values(fixture.dump().await), before, "{kind}");
    }
}

#[tokio::test]
async fn damaged_value_counts_as_untouched_and_the_next_charge_repairs_it() {
    let nonsense: [&[u8]; 6] =
        [b"", b"x", &[0xff; 40], &[0x7f; 47], b"thirty-two bytes that are words.", &[0; 500]];
    for limit in one_of_each(3, 60_000) {
        let fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit.clone()])];
        let fresh = fixture.check(Operation::Peek, 1, &rules).await;
        for value in nonsense {
            fixture.exhaust(&rules).await;
            let key = fixture.dump().await.into_keys().next().expect("a counter");
            if key.contains(":l:") {
                redis(&[b"DEL", key.as_bytes()]).await;
                redis(&[b"RPUSH", key.as_bytes(), value, value]).await;
            } else {
                let mut connection = connection().await;
                let names: Vec<Vec<u8>> = redis::cmd("HKEYS")
                    .arg(&key)
                    .query_async(&mut connection)
                    .await
                    .expect("a hash");
                redis(&[b"HSET", key.as_bytes(), &names[0], value]).await;
            }
            let taken = fixture.check(Operation::Consume, 1, &rules).await;
            assert!(
                passed(&taken) && taken[0].remaining == fresh[0].remaining,
                "{limit:?}, {value:?}"
            );
            fixture.check(Operation::Refund, 1, &rules).await;
        }
    }
}

#[tokio::test]
async fn damaged_entries_in_the_middle_of_a_log_fail_no_check() {
    for value in [&b"x"[..], &[0xff; 32], &[0x7f; 32]] {
        for at in 0..5 {
            let fixture = Fixture::new().await;
            let rules = [charge_of(1, vec![of_kind(Kind::SlidingWindowLog, 5, 60_000)])];
            fixture.exhaust(&rules).await;
            let key = fixture.dump().await.into_keys().next().expect("a log");
            redis(&[b"LSET", key.as_bytes(), at.to_string().as_bytes(), value]).await;
            for operation in [
                Operation::Consume,
                Operation::Refund,
                Operation::Peek,
                Operation::Consume,
                Operation::Inspect,
                Operation::Refund,
            ] {
                for cost in [1, 2, 5] {
                    let decisions = fixture.check(operation, cost, &rules).await;
                    assert!(decisions[0].remaining <= 5, "{decisions:?}");
                    fixture.pass_ms(7_000);
                }
            }
        }
    }
}

#[tokio::test]
async fn damaged_record_of_an_idempotency_key_counts_as_none_or_fails_its_check_alone() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![five_a_minute()])];
    for (field, value) in [
        ("numbers", &[0xff_u8; 40][..]),
        ("numbers", b"x"),
        ("text", &[0xff, 0xfe]),
        ("numbers", b""),
    ] {
        fixture.check_all(vec![fixture.with_key(1, &rules, "key")]).await;
        let key =
            fixture.dump().await.into_keys().find(|key| key.contains(":i:")).expect("a record");
        redis(&[b"HSET", key.as_bytes(), field.as_bytes(), value]).await;
        let answers = fixture
            .check_all(vec![
                fixture.with_key(1, &rules, "key"),
                fixture.asked(Operation::Inspect, 1, &rules),
            ])
            .await;
        let fits = matches!(answers[0], Answer::Unreadable(_) | Answer::Decided(..));
        assert!(fits && matches!(answers[1], Answer::Decided(..)), "{answers:?}");
        redis(&[b"DEL", key.as_bytes()]).await;
    }
}

#[tokio::test]
async fn reset_removes_keys_of_a_wrong_type() {
    let fixture = Fixture::new().await;
    let rules = [charge_with_block(1, 60_000, one_of_each(3, 60_000))];
    fixture.exhaust(&rules).await;
    spoil_types(&fixture).await;
    fixture.limiter.reset(fixture.tenant, "test", &rules[0]).await.expect("redis answers");
    assert!(fixture.dump().await.is_empty());
    assert!(passed(&fixture.check(Operation::Consume, 1, &rules).await));
}
