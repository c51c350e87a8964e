//! Valid and invalid conditions of alerts, and the position of their thresholds.

use super::*;
use crate::time::Timestamp;

fn rule_id() -> RuleId {
    RuleId::new(Timestamp::from_millis(1), 7)
}

fn quota_of(thresholds: Option<Vec<u32>>) -> ConditionDraft {
    ConditionDraft {
        kind: "quota".into(),
        rule_id: Some(rule_id().to_string()),
        thresholds_percent: thresholds,
        ..ConditionDraft::default()
    }
}

fn share(share_percent: u32) -> ConditionDraft {
    ConditionDraft {
        kind: "denial_share".into(),
        share_percent: Some(share_percent),
        ..ConditionDraft::default()
    }
}

fn fields(draft: &ConditionDraft) -> Vec<String> {
    let wrong = Condition::parse(draft).expect_err("refused");
    wrong.into_iter().map(|invalid| invalid.field).collect()
}

#[test]
fn quota_has_thresholds_in_their_order() {
    let parsed = |given| match Condition::parse(&quota_of(given)) {
        Ok(Condition::Quota { thresholds_percent, .. }) => thresholds_percent,
        other => panic!("{other:?}"),
    };
    assert_eq!(parsed(None), [80, 90, 100]);
    assert_eq!(parsed(Some(vec![100, 50])), [50, 100]);
    for wrong in [vec![], vec![0], vec![101], vec![50, 50], vec![1, 2, 3, 4, 5, 6]] {
        assert_eq!(fields(&quota_of(Some(wrong))), ["thresholds_percent"]);
    }
    assert_eq!(fields(&ConditionDraft { rule_id: None, ..quota_of(None) }), ["rule_id"]);
    let mixed =
        ConditionDraft { window_s: Some(60), namespace: Some("a".into()), ..quota_of(None) };
    assert_eq!(fields(&mixed), ["namespace", "window_s"]);
    assert_eq!(fields(&ConditionDraft::default()), ["kind"]);
}

#[test]
fn share_is_of_everything_a_namespace_or_a_rule() {
    let of = |draft: &ConditionDraft| match Condition::parse(draft) {
        Ok(Condition::DenialShare { of, window_s: 300, checks_min: 100, .. }) => of,
        other => panic!("{other:?}"),
    };
    assert_eq!(of(&share(20)), Watched::Everything);
    let namespace = ConditionDraft { namespace: Some("api".into()), ..share(20) };
    assert_eq!(of(&namespace), Watched::Namespace("api".into()));
    let rule = ConditionDraft { rule_id: Some(rule_id().to_string()), ..share(20) };
    assert_eq!(of(&rule), Watched::Rule(rule_id()));
    let both = ConditionDraft { namespace: Some("api".into()), ..rule };
    assert_eq!(fields(&both), ["namespace"]);
    for (draft, field) in [
        (share(0), "share_percent"),
        (share(101), "share_percent"),
        (ConditionDraft { window_s: Some(59), ..share(1) }, "window_s"),
        (ConditionDraft { window_s: Some(90), ..share(1) }, "window_s"),
        (ConditionDraft { window_s: Some(86_460), ..share(1) }, "window_s"),
        (ConditionDraft { checks_min: Some(0), ..share(1) }, "checks_min"),
        (ConditionDraft { rule_id: Some("x".into()), ..share(1) }, "rule_id"),
        (ConditionDraft { namespace: Some("A".into()), ..share(1) }, "namespace"),
        (ConditionDraft { thresholds_percent: Some(vec![1]), ..share(1) }, "thresholds_percent"),
    ] {
        assert_eq!(fields(&draft), [field], "{draft:?}");
    }
}

#[test]
fn thresholds_are_reached_to_the_unit() {
    assert_eq!(reached(&THRESHOLDS_PERCENT, 79, 100), []);
    assert_eq!(reached(&THRESHOLDS_PERCENT, 80, 100), [80]);
    assert_eq!(reached(&THRESHOLDS_PERCENT, 3, 3), [80, 90, 100]);
    assert_eq!(reached(&THRESHOLDS_PERCENT, 2, 3), []);
    assert_eq!(reached(&[100], u64::MAX, u64::MAX), [100]);
    assert_eq!(reached(&[1], 0, 0), []);
    assert!(share_reached(20, 100, 20, 100));
    assert!(!share_reached(20, 100, 19, 100));
    assert!(!share_reached(20, 100, 99, 99), "too few checks say nothing");
    assert!(!share_reached(1, 0, 0, 0));
}
