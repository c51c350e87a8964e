use std::collections::{BTreeMap, HashMap};

use weir_domain::request::RequestDraft;
use weir_domain::sample::mark;

use super::*;

fn request(user: &str, cost: u64, operation: Operation) -> Request {
    let attributes = [("user", user), ("secret", "not in the plan")];
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let attributes: BTreeMap<_, _> = attributes.map(own).into();
    let namespace = "default".to_owned();
    Request::parse(RequestDraft { namespace, attributes, cost, operation, idempotency_key: None })
        .expect("valid")
}

fn sample() -> Sample {
    let users = vec!["user".to_owned()];
    let count_by = vec![vec!["user".into()]];
    Sample::new(Arc::new(SamplePlan::new("default".to_owned(), users, count_by)))
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

/// The number of checks of each user.
fn users(sample: Sample) -> HashMap<String, usize> {
    let stored = sample.into_recorded();
    let mut counts = HashMap::new();
    for (_, place, _) in &stored.checks {
        let user = stored.values[*place as usize][0].clone().expect("there");
        *counts.entry(user).or_default() += 1;
    }
    counts
}

#[test]
fn sample_holds_the_attributes_of_its_plan_in_order_of_time_and_nothing_else() {
    let (mut sample, mut free) = (sample(), 100_000);
    sample.offer(&request("ada", 3, Operation::Consume), at(1_020), 0, &mut free);
    sample.offer(&request("bob", 1, Operation::Consume), at(1_005), 0, &mut free);
    sample.offer(&request("ada", 2, Operation::Refund), at(1_030), 0, &mut free);
    assert_eq!((sample.checks_total(), sample.len(), free), (3, 3, 100_000 - sample.bytes()));
    assert_eq!(sample.threshold(), ALL);
    let stored = sample.split().into_recorded();
    assert_eq!(stored.values, [[Some("bob".to_owned())], [Some("ada".to_owned())]]);
    assert_eq!(stored.checks, [(0, 0, 1), (15, 1, 3), (25, 1, -2)]);
    sample.restart();
    assert_eq!((sample.checks_total(), sample.len()), (0, 0));
}

/// Three shards, each with more checks of all users than a sample can hold.
#[test]
fn full_sample_drops_whole_subjects_and_is_complete_for_the_others() {
    let mut all = sample();
    for shard in 0..3 {
        let mut part = sample();
        let mut free = 1_000_000;
        for turn in 0..4 {
            for user in 0..500 {
                let request = request(&format!("u-{user}"), 1, Operation::Consume);
                part.offer(&request, at(shard * 10 + turn), 0, &mut free);
            }
        }
        assert!(part.len() <= CHECKS_MAX && part.len() > CHECKS_MAX / 4, "{}", part.len());
        all.absorb(&mut part);
    }
    assert_eq!(all.checks_total(), 6_000);
    let threshold = all.threshold();
    let counts = users(all);
    assert!(counts.values().all(|checks| *checks == 12), "{counts:?}");
    for user in (0..500).map(|user| format!("u-{user}")) {
        let mark = mark(&["user".into()], |_| Some(user.as_str())).expect("counted");
        assert_eq!(counts.contains_key(&user), mark <= threshold, "{user}");
    }
    assert!(counts.len() > 20, "{} subjects", counts.len());
}

#[test]
fn sample_without_free_memory_is_empty_and_counts_all_checks() {
    let (mut sample, mut free) = (sample(), 0);
    for user in ["ada", "bob", "cleo"] {
        sample.offer(&request(user, 1, Operation::Consume), at(0), 0, &mut free);
    }
    assert_eq!((sample.checks_total(), sample.len(), free), (3, 0, 0));
    assert!(sample.threshold() < ALL, "the threshold shows that the sample is incomplete");
}

/// A subject with more checks than a sample can hold is dropped, not sampled in part.
#[test]
fn subject_with_too_many_checks_is_dropped() {
    let (mut sample, mut free) = (sample(), 1_000_000);
    sample.offer(&request("quiet", 1, Operation::Consume), at(0), 0, &mut free);
    for _ in 0..2 * CHECKS_MAX {
        sample.offer(&request("busy", 1, Operation::Consume), at(1), 0, &mut free);
    }
    let threshold = sample.threshold();
    let counts = users(sample);
    assert!(!counts.contains_key("busy") && threshold < ALL);
}

/// Of all subjects, that with the least mark is dropped last. A caller can choose such a subject.
#[test]
fn subject_with_the_least_mark_is_dropped_too() {
    let user = "u-0mv94fz";
    assert_eq!(mark(&["user".into()], |_| Some(user)), Some(MARK_MIN));
    let (mut sample, mut free) = (sample(), 1_000_000);
    for _ in 0..2 * CHECKS_MAX {
        sample.offer(&request(user, 1, Operation::Consume), at(0), 0, &mut free);
    }
    assert_eq!((sample.len(), sample.threshold(), free), (0, 0, 1_000_000));
}

/// Memory for about a hundred checks, and long values.
#[test]
fn size_is_bounded_and_the_sampled_subjects_are_complete() {
    let mut sample = sample();
    let mut free = 100_000;
    for turn in 0..3 {
        for user in 0..400 {
            let request = request(&format!("u-{user}-{}", "x".repeat(300)), 1, Operation::Consume);
            sample.offer(&request, at(turn), 0, &mut free);
        }
    }
    assert_eq!(free, 100_000 - sample.bytes());
    assert!(sample.bytes() > 20_000, "{} bytes", sample.bytes());
    let counts = users(sample);
    assert!(counts.values().all(|checks| *checks == 3), "{counts:?}");
}
