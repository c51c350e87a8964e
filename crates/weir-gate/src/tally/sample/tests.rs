use std::collections::{BTreeMap, HashMap};

use weir_domain::request::RequestDraft;
use weir_domain::sample::mark;

use super::*;

fn request(user: &str, cost: u64, operation: Operation) -> Request {
    let attributes = [("user", user), ("secret", "not looked at")];
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let attributes: BTreeMap<_, _> = attributes.map(own).into();
    let namespace = "default".to_owned();
    Request::parse(RequestDraft { namespace, attributes, cost, operation, idempotency_key: None })
        .expect("valid")
}

fn sample() -> Sample {
    let users = vec!["user".to_owned()];
    Sample::new(Arc::new(SamplePlan::new("default".to_owned(), users.clone(), vec![users])))
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

/// How often each user is in it.
fn users(sample: Sample) -> HashMap<String, usize> {
    let stored = sample.checks();
    let mut counts = HashMap::new();
    for (_, place, _) in &stored.checks {
        let user = stored.values[*place as usize][0].clone().expect("there");
        *counts.entry(user).or_default() += 1;
    }
    counts
}

#[test]
fn keeps_what_rules_look_at_in_order_of_time_and_nothing_else() {
    let (mut sample, mut room) = (sample(), 100_000);
    sample.offer(&request("ada", 3, Operation::Consume), at(1_020), 0, &mut room);
    sample.offer(&request("bob", 1, Operation::Consume), at(1_005), 0, &mut room);
    sample.offer(&request("ada", 2, Operation::Refund), at(1_030), 0, &mut room);
    assert_eq!((sample.seen(), sample.kept(), room), (3, 3, 100_000 - sample.bytes()));
    assert_eq!(sample.threshold(), ALL);
    let stored = sample.split().checks();
    assert_eq!(stored.values, [[Some("bob".to_owned())], [Some("ada".to_owned())]]);
    assert_eq!(stored.checks, [(0, 0, 1), (15, 1, 3), (25, 1, -2)]);
    sample.restart();
    assert_eq!((sample.seen(), sample.kept()), (0, 0));
}

/// Three shards, each with checks of all users, more than there is room for.
#[test]
fn beyond_the_room_subjects_go_as_a_whole_and_the_rest_is_complete() {
    let mut all = sample();
    for shard in 0..3 {
        let mut part = sample();
        let mut room = 1_000_000;
        for turn in 0..4 {
            for user in 0..500 {
                let request = request(&format!("u-{user}"), 1, Operation::Consume);
                part.offer(&request, at(shard * 10 + turn), 0, &mut room);
            }
        }
        assert!(part.kept() <= KEPT_MAX && part.kept() > KEPT_MAX / 4, "{}", part.kept());
        all.absorb(&mut part);
    }
    assert_eq!(all.seen(), 6_000);
    let threshold = all.threshold();
    let kept = users(all);
    assert!(kept.values().all(|checks| *checks == 12), "{kept:?}");
    for user in (0..500).map(|it| format!("u-{it}")) {
        let mark = mark(&["user".to_owned()], |_| Some(user.as_str())).expect("counted");
        assert_eq!(kept.contains_key(&user), mark <= threshold, "{user}");
    }
    assert!(kept.len() > 20, "{} subjects", kept.len());
}

#[test]
fn without_room_nothing_is_kept_and_all_is_seen() {
    let (mut sample, mut room) = (sample(), 0);
    for user in ["ada", "bob", "cleo"] {
        sample.offer(&request(user, 1, Operation::Consume), at(0), 0, &mut room);
    }
    assert_eq!((sample.seen(), sample.kept(), room), (3, 0, 0));
    assert!(sample.threshold() < ALL, "the sample says that it is none");
}

/// Who asks alone more than may be kept is left out rather than kept in part.
#[test]
fn subject_too_busy_for_the_room_is_left_out() {
    let (mut sample, mut room) = (sample(), 1_000_000);
    sample.offer(&request("quiet", 1, Operation::Consume), at(0), 0, &mut room);
    for _ in 0..2 * KEPT_MAX {
        sample.offer(&request("busy", 1, Operation::Consume), at(1), 0, &mut room);
    }
    let threshold = sample.threshold();
    let kept = users(sample);
    assert!(!kept.contains_key("busy") && threshold < ALL);
}

/// A page with room for about a hundred checks, and long values.
#[test]
fn bytes_are_bounded_and_what_is_left_is_whole() {
    let mut sample = sample();
    let mut room = 100_000;
    for turn in 0..3 {
        for user in 0..400 {
            let request = request(&format!("u-{user}-{}", "x".repeat(300)), 1, Operation::Consume);
            sample.offer(&request, at(turn), 0, &mut room);
        }
    }
    assert_eq!(room, 100_000 - sample.bytes());
    assert!(sample.bytes() > 20_000, "{} bytes", sample.bytes());
    let kept = users(sample);
    assert!(kept.values().all(|checks| *checks == 3), "{kept:?}");
}
