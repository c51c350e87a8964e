//! Documents `Assignments`.

use serde_json::json;

use super::{file, wrong};
use crate::rule_set::RuleSet;

const ASSIGNMENTS: &str = "\
apiVersion: weir/v1
kind: Assignments
spec:
  - customer: 007
    plan: pro
    until: 2026-12-01T00:00:00Z
  - { customer: 007, plan: business, from: 2026-12-01T00:00:00Z, note: 12 }
  - { customer: acme, plan: pro }
";

#[test]
fn documented_assignments_are_read() {
    let set = RuleSet::read(&[file("a.yaml", ASSIGNMENTS)]).unwrap();
    let time = "2026-12-01T00:00:00Z";
    assert_eq!(
        serde_json::to_value(set.assignments()).unwrap(),
        json!([
            { "customer": "007", "plan": "pro", "until": time },
            { "customer": "007", "plan": "business", "from": time, "note": "12" },
            { "customer": "acme", "plan": "pro" },
        ])
    );
}

#[test]
fn every_error_of_an_assignment_has_its_place() {
    for (from, to, place, text) in [
        ("plan: pro\n", "plans: pro\n", "5:5", "unknown field `plans`"),
        ("    plan: pro\n", "", "4:5", "missing field `plan`"),
        ("until: 2026", "until: the year 2026", "6:5", "must be a time like"),
        ("customer: acme", r#"customer: "a\tb""#, "8:7", "`customer`"),
        (
            "plan: pro }",
            "plan: pro, from: 2026-12-01T00:00:00Z, until: 2026-12-01T00:00:00Z }",
            "8:62",
            "`until` must be later than `from`",
        ),
        (
            "until: 2026-12-01",
            "until: 2026-12-02",
            "6:5",
            "`until` overlaps the assignment in a.yaml:7:5",
        ),
        (
            "from: 2026-12-01T00:00:00Z, ",
            "",
            "7:7",
            "`customer` overlaps the assignment in a.yaml:4:5",
        ),
        (
            "customer: acme, plan: pro",
            "customer: 007, plan: pro, from: 2026-12-01T00:00:00Z",
            "8:33",
            "`from` overlaps the assignment in a.yaml:7:5",
        ),
        (
            "spec:\n",
            "metadata: { name: a }\nspec:\n",
            "3:13",
            "a document `Assignments` has no metadata",
        ),
    ] {
        assert!(ASSIGNMENTS.contains(from), "{from}");
        let found = wrong(&ASSIGNMENTS.replace(from, to));
        assert!(found[0].starts_with(&format!("a.yaml:{place}: ")), "{from} -> {to}: {found:?}");
        assert!(found[0].contains(text), "{from} -> {to}: {found:?}");
    }
    let map = "apiVersion: weir/v1\nkind: Assignments\nspec: { customer: acme }\n";
    assert_eq!(wrong(map), ["a.yaml:3:1: `spec` of `Assignments` must be a list"]);
    let set = RuleSet::read(&[file("a.yaml", ASSIGNMENTS)]).unwrap();
    let located = set.locate("assignments[1].plan", "is wrong").map(|found| found.to_string());
    assert_eq!(located.as_deref(), Some("a.yaml:7:22: `plan` is wrong"));
}

#[test]
fn assignments_in_two_files_overlap_and_have_one_bound() {
    let of = |customers: std::ops::Range<u32>| {
        let lines = customers.map(|at| format!("  - {{ customer: c{at}, plan: pro }}\n"));
        format!("apiVersion: weir/v1\nkind: Assignments\nspec:\n{}", lines.collect::<String>())
    };
    let found = |files: &[String]| {
        let files: Vec<_> = ["a.yaml", "b.yaml"]
            .into_iter()
            .zip(files)
            .map(|(name, text)| file(name, text))
            .collect();
        let found = RuleSet::read(&files).err().unwrap_or_default();
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(found(&[of(0..2_500), of(2_500..5_000)]), [""; 0]);
    assert_eq!(
        found(&[of(0..2_500), of(2_499..5_000)]),
        [
            "b.yaml:4:7: `customer` overlaps the assignment in a.yaml:2503:5",
            "b.yaml:2504:7: the set has 5001 assignments; 5000 is the most",
        ]
    );
}
