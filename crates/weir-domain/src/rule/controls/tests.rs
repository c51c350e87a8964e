//! Controls of rules: their bounds, and the part that a rule plays for each subject and time.

use std::collections::BTreeMap;

use crate::algorithm::LimitDraft;
use crate::draft::{
    Action, Consistency, Mode, PriorityDraft, RuleDraft, ScheduleDraft, VariantDraft,
};
use crate::id::RuleId;
use crate::rule::tests::{draft, fixed, log, spacing, wrong_fields};
use crate::rule::{Rule, keep_units};
use crate::subject::SubjectKey;
use crate::time::Timestamp;

fn refused(draft: RuleDraft, field: &str, bound: &str) {
    let wrong = Rule::parse(draft).expect_err(bound);
    let found =
        wrong.iter().any(|invalid| invalid.field == field && invalid.reason.contains(bound));
    assert!(found, "{field} {bound}: {wrong:?}");
}

fn priority(keep: &[(&str, u16)], limits: Vec<LimitDraft>) -> RuleDraft {
    let keep: BTreeMap<_, _> =
        keep.iter().map(|(class, share)| ((*class).to_owned(), *share)).collect();
    let priority = PriorityDraft { attribute: "class".to_owned(), keep };
    RuleDraft { priority: Some(priority), ..draft(limits) }
}

#[test]
fn priority_keeps_the_share_of_a_class_and_the_largest_without_one() {
    let rule = Rule::parse(priority(&[("batch", 500), ("normal", 100)], vec![fixed(10, 1_000)]));
    let rule = rule.expect("valid");
    let share =
        |class: Option<&'static str>| rule.keep_share(|name| class.filter(|_| name == "class"));
    assert_eq!([Some("batch"), Some("normal"), Some("other"), None].map(share), [500, 100, 0, 500]);
    assert_eq!(
        [keep_units(500, 5), keep_units(1, 1_000), keep_units(0, 9), keep_units(334, 3)],
        [3, 1, 0, 2]
    );
}

#[test]
fn priority_that_can_never_pass_or_be_judged_is_refused() {
    let limits = || vec![fixed(10, 1_000)];
    refused(priority(&[("batch", 1_001)], limits()), "priority.keep.batch", "from 0 to 1");
    refused(
        priority(&[("batch", 901)], limits()),
        "priority.keep.batch",
        "no check could ever pass",
    );
    refused(priority(&[], limits()), "priority.keep", "from 1 to 16 classes");
    refused(priority(&[("a", 1)], vec![spacing(1)]), "priority", "`spacing`");
    for consistency in [Consistency::Leased, Consistency::Approximate] {
        let draft = RuleDraft { consistency, ..priority(&[("a", 1)], limits()) };
        refused(draft, "priority", consistency.as_str());
    }
    let allow = RuleDraft { action: Action::Allow, ..priority(&[("a", 1)], Vec::new()) };
    refused(allow, "priority", "unless the action is `limit`");
    assert!(Rule::parse(priority(&[("batch", 900)], limits())).is_ok());
}

#[test]
fn a_list_of_blocks_needs_a_memory_and_its_last_length_repeats() {
    let blocks = |block_ms: &[u64], block_memory_ms| RuleDraft {
        block_ms: block_ms.to_vec(),
        block_memory_ms,
        ..draft(vec![fixed(1, 1)])
    };
    refused(blocks(&[1, 2], None), "block_memory_ms", "must be given");
    refused(blocks(&[1], Some(5)), "block_memory_ms", "must be null");
    refused(blocks(&[1, 2], Some(0)), "block_memory_ms", "from 1");
    refused(blocks(&[1, 0], Some(5)), "block_ms", "from 1");
    refused(blocks(&[1; 11], Some(5)), "block_ms", "at most 10");
    let rule = Rule::parse(blocks(&[10, 20, 40], Some(5))).expect("valid");
    let lengths = rule.blocks().expect("a list");
    assert_eq!(
        [0, 1, 2, 3, 4, 99].map(|number| lengths.length_ms(number)),
        [10, 10, 20, 40, 40, 40]
    );
    assert_eq!(rule.draft(), Rule::parse(rule.draft()).expect("valid").draft());
}

fn subjects() -> impl Iterator<Item = SubjectKey> {
    (0..10_000_u128)
        .map(|at| SubjectKey(at.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_0C4B_6D2C_1B57)))
}

#[test]
fn a_share_of_subjects_is_enforced_and_always_the_same_one() {
    let rule = |percent| {
        let enforce_percent = Some(percent);
        Rule::parse(RuleDraft { enforce_percent, ..draft(vec![fixed(1, 1)]) }).expect("valid")
    };
    let id = RuleId::from_u128(7);
    let is_in = |percent, subject| rule(percent).part(id, || subject).mode == Mode::Enforce;
    let (ten, fifty): (Vec<_>, Vec<_>) =
        subjects().map(|subject| (is_in(10, subject), is_in(50, subject))).unzip();
    let count = ten.iter().filter(|is_in| **is_in).count();
    assert!((900..1_100).contains(&count), "{count} of 10,000");
    assert!(ten.iter().zip(&fifty).all(|(ten, fifty)| !ten || *fifty), "who was in stays in");
    let other = RuleId::from_u128(8);
    let same = subjects().zip(&ten).filter(|(subject, ten)| {
        (rule(10).part(other, || *subject).mode == Mode::Enforce) == **ten
    });
    assert!(same.count() < 9_000, "another rule has other subjects");
    assert!(subjects().all(|subject| is_in(100, subject)));
    for percent in [0, 101] {
        let draft = RuleDraft { enforce_percent: Some(percent), ..draft(vec![fixed(1, 1)]) };
        refused(draft, "enforce_percent", "from 1 to 100");
    }
    let one =
        RuleDraft { enforce_percent: Some(5), count_by: Vec::new(), ..draft(vec![fixed(1, 1)]) };
    refused(one, "enforce_percent", "count_by");
}

fn variant(name: &str, percent: u64, limits: Vec<LimitDraft>) -> VariantDraft {
    VariantDraft { name: name.to_owned(), percent, limits }
}

fn experiment(variants: Vec<VariantDraft>) -> RuleDraft {
    RuleDraft { variants, ..draft(Vec::new()) }
}

#[test]
fn variants_split_subjects_by_their_percentages_and_share_slots() {
    let variants = vec![
        variant("a", 30, vec![fixed(5, 1_000), log(9, 1_000)]),
        variant("b", 70, vec![fixed(7, 2_000), log(2, 1_000)]),
    ];
    let rule = Rule::parse(experiment(variants)).expect("valid").with_slots(&[3, 8]);
    assert_eq!(rule.limits().len(), 2);
    assert_eq!(rule.variants().collect::<Vec<_>>(), ["a", "b"]);
    let id = RuleId::from_u128(7);
    let parts = subjects().map(|subject| rule.part(id, || subject).variant.expect("one"));
    let (mut a, mut b) = (0, 0);
    for (at, limits) in parts {
        if at == 0 {
            a += 1;
        } else {
            b += 1;
        }
        assert_eq!(limits.iter().map(|limit| limit.slot).collect::<Vec<_>>(), [3, 8]);
        assert_eq!(limits[0].algorithm.limit(), if at == 0 { 5 } else { 7 });
    }
    assert!((2_800..3_200).contains(&a) && a + b == 10_000, "{a} and {b}");
    let adopted = Rule::parse(draft(vec![fixed(7, 2_000), log(2, 1_000)])).expect("valid");
    let slots = crate::rule::Slots { taken: vec![3, 8], next: 9 };
    assert_eq!(adopted.slots_after(&rule, &slots).expect("slots").taken, [3, 8]);
    assert_eq!(rule.draft(), Rule::parse(rule.draft()).expect("valid").draft());
}

#[test]
fn variants_that_cannot_be_compared_are_refused() {
    let two = |a, b| vec![variant("a", a, vec![fixed(5, 1)]), variant("b", b, vec![fixed(7, 1)])];
    refused(experiment(two(50, 49)), "variants", "sum to 100");
    refused(experiment(two(100, 0)), "variants", "from 1 to 99");
    refused(experiment(vec![variant("a", 50, vec![fixed(5, 1)])]), "variants", "from 2 to 4");
    let other = vec![variant("a", 50, vec![fixed(5, 1)]), variant("b", 50, vec![log(5, 1)])];
    refused(experiment(other), "variants[1].limits", "same algorithms");
    let twice = vec![variant("a", 50, vec![fixed(5, 1)]), variant("a", 50, vec![fixed(5, 1)])];
    refused(experiment(twice), "variants[1].name", "twice");
    let wrong = vec![variant("a", 50, vec![fixed(0, 1)]), variant("b", 50, vec![fixed(5, 1)])];
    assert_eq!(wrong_fields(experiment(wrong)), ["variants[0].limits[0].limit"]);
    let both = RuleDraft { variants: two(50, 50), ..draft(vec![fixed(1, 1)]) };
    refused(both, "limits", "must be empty with `variants`");
    let share = RuleDraft { enforce_percent: Some(10), ..experiment(two(50, 50)) };
    refused(share, "enforce_percent", "`variants`");
    let leased = RuleDraft { consistency: Consistency::Leased, ..experiment(two(50, 50)) };
    refused(leased, "variants", "leased");
}

fn scheduled(weekly: &[&str], zone: Option<&str>) -> RuleDraft {
    let active = ScheduleDraft {
        zone: zone.map(str::to_owned),
        weekly: weekly.iter().map(|entry| (*entry).to_owned()).collect(),
        ..ScheduleDraft::default()
    };
    RuleDraft { active: Some(active), ..draft(vec![fixed(1, 1)]) }
}

#[test]
fn schedules_that_say_nothing_or_two_things_are_refused() {
    refused(scheduled(&[], Some("UTC")), "active", "weekly");
    refused(scheduled(&["Mon 08:00-09:00"], None), "active.zone", "weekly");
    let wrong = [
        "Mon",
        "Mon 8:00-9:00",
        "Mon 08:00-25:00",
        "Mon 24:00-01:00",
        "Mon 08:00-08:00",
        "Funday 08:00-09:00",
        "Mon  08:00-09:00",
        "Mon,Mon 08:00-09:00",
        "Mon 08:60-09:00",
    ];
    for entry in wrong {
        refused(scheduled(&[entry], Some("UTC")), "active.weekly[0]", "such as");
    }
    let overlapping = ["Mon-Fri 08:00-18:00", "Wed 17:59-19:00"];
    refused(scheduled(&overlapping, Some("UTC")), "active.weekly[1]", "overlap");
    let at_week_end = ["Mon 05:00-07:00", "Sun 22:00-06:00"];
    refused(scheduled(&at_week_end, Some("UTC")), "active.weekly[1]", "overlap");
    let many = vec!["Mon 08:00-09:00"; 51];
    refused(scheduled(&many, Some("UTC")), "active.weekly", "at most 50");
    let ends = ScheduleDraft {
        from: Some(Timestamp::from_millis(5)),
        until: Some(Timestamp::from_millis(5)),
        ..ScheduleDraft::default()
    };
    let ends = RuleDraft { active: Some(ends), ..draft(vec![fixed(1, 1)]) };
    refused(ends, "active.until", "later than `from`");
}

#[cfg(feature = "calendar")]
#[test]
fn a_schedule_follows_the_clocks_of_its_zone() {
    refused(scheduled(&["Mon 08:00-09:00"], Some("Moon/Base")), "active.zone", "IANA");
    let at = |text: &str| {
        let instant: jiff::Timestamp = text.parse().expect("a time");
        Timestamp::from_millis(instant.as_millisecond())
    };
    let weekly = ["Mon-Fri 08:00-18:00", "Sun 22:00-02:00"];
    let rule = Rule::parse(scheduled(&weekly, Some("Europe/Berlin"))).expect("valid");
    let active = |text: &str| rule.is_active(at(text));
    // Friday in winter: Berlin is an hour ahead.
    assert!(!active("2026-11-27T06:59:59.999Z"));
    assert!(active("2026-11-27T07:00:00Z"));
    assert!(active("2026-11-27T16:59:59.999Z"));
    assert!(!active("2026-11-27T17:00:00Z"));
    assert!(!active("2026-11-28T12:00:00Z"), "a Saturday");
    // Sunday night into Monday, across the end of the week.
    assert!(active("2026-11-29T21:00:00Z"));
    assert!(active("2026-11-30T00:59:00Z"));
    assert!(!active("2026-11-30T01:00:00Z"));
    // Wednesday in summer: two hours ahead.
    assert!(active("2026-07-01T06:00:00Z"));
    assert!(!active("2026-07-01T05:59:00Z"));
}
