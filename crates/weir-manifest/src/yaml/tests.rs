//! Nodes, their places, and what is refused.

use std::fmt::Write as _;

use super::*;

#[test]
fn each_part_has_its_line_and_column() {
    let source = "# a comment\n---\na: 1\nb:\n  - x\n  - { c: 'y z' }\n---\n";
    let documents = documents(source).unwrap();
    assert_eq!(documents.len(), 1);
    let entries = documents[0].entries().unwrap();
    let places: Vec<_> = entries.iter().map(|entry| (entry.at.line, entry.at.column)).collect();
    assert_eq!(places, [(3, 1), (4, 1)]);
    let items = entries[1].value.items().unwrap();
    assert_eq!(items[1].at, Position { line: 6, column: 5 });
    let inner = &items[1].entries().unwrap()[0];
    assert_eq!((inner.at.column, inner.value.text()), (7, Ok("y z")));
}

#[test]
fn what_a_manifest_must_not_have_is_refused_with_its_place() {
    for (source, place, text) in [
        ("a: 1\nb: 2\na: 3\n", (3, 1), "`a` is given twice"),
        ("a: &x 1\nb: *x\n", (1, 4), "anchors and tags are not supported"),
        ("a: !!str 1\n", (1, 4), "anchors and tags are not supported"),
        ("? [a]\n: 1\n", (1, 3), "must be a text"),
    ] {
        let error = documents(source).expect_err(source);
        assert_eq!((error.at.line, error.text.as_str()), (place.0, text), "{source}");
    }
    let deep = "[".repeat(DEPTH_MAX + 1);
    assert!(documents(&deep).is_err());
    assert!(documents("a:\n\t- b\n").is_err());
    assert!(documents("a: [1, 2\n").is_err());
}

#[test]
fn aliases_and_merge_keys_of_other_programs_are_resolved_within_bounds() {
    let source = "a: &a { x: 1, y: 2 }\nb: &b { y: 3, z: 4 }\nc: { <<: *a, x: 5 }\n\
        d: { <<: [*b, *a] }\ne: *a\nf: !!str 7\n";
    let documents = documents_with_aliases(source).unwrap();
    let value = |at: usize| documents[0].entries().unwrap()[at].value.clone();
    let shown = |at: usize| {
        let value = value(at);
        let entries = value.entries().unwrap().iter();
        let mut shown: Vec<_> =
            entries.map(|entry| format!("{}={}", entry.key, entry.value.text().unwrap())).collect();
        shown.sort();
        shown.join(" ")
    };
    assert_eq!((shown(2), shown(3)), ("x=5 y=2".to_owned(), "x=1 y=3 z=4".to_owned()));
    assert_eq!(
        (value(4), value(5).content),
        (value(0), Content::Scalar { text: "7".into(), plain: false })
    );

    let mut bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
    for at in 1..9 {
        let items = vec![format!("*a{}", at - 1); 10].join(", ");
        writeln!(bomb, "a{at}: &a{at} [{items}]").expect("a string");
    }
    let refused = documents_with_aliases(&bomb).expect_err("too many");
    assert!(refused.text.contains("stand for more than 50000 values"), "{refused}");
    for (source, text) in [
        ("a: &a [*a]\n", "the alias stands for a part that contains it"),
        ("a: !x 1\n", "this tag is not supported"),
        ("a: !!binary AA==\n", "this tag is not supported"),
        ("a: { <<: 1 }\n", "must be a map of fields"),
    ] {
        assert_eq!(documents_with_aliases(source).expect_err(source).text, text, "{source}");
    }
}
