//! Conditions of a rule that cannot all hold for one request.

use std::collections::BTreeMap;

use super::{Condition, Test, contained_in};

/// The first condition that cannot hold together with those before it on the same attribute. Of regular expressions, only
/// those beside a list of values are tested.
pub(crate) fn first_contradiction(conditions: &[Condition]) -> Option<usize> {
    let mut by_attribute = BTreeMap::<&str, Vec<usize>>::new();
    for (at, condition) in conditions.iter().enumerate() {
        by_attribute.entry(condition.attribute()).or_default().push(at);
    }
    let first_of = |on_it: Vec<usize>| {
        let can_hold = |on_it: &[usize]| {
            can_hold(&on_it.iter().map(|&at| &conditions[at]).collect::<Vec<_>>())
        };
        if can_hold(&on_it) {
            return None;
        }
        (0..on_it.len()).find(|&last| !can_hold(&on_it[..=last])).map(|last| on_it[last])
    };
    by_attribute.into_values().filter_map(first_of).min()
}

/// Whether all these conditions on one attribute can hold.
fn can_hold(conditions: &[&Condition]) -> bool {
    let fewest =
        conditions.iter().filter_map(|condition| condition.one_of()).min_by_key(|v| v.len());
    match fewest {
        Some(values) => values.iter().any(|value| {
            conditions
                .iter()
                .all(|condition| !condition.is_decidable() || condition.holds(Some(value)))
        }),
        None => conditions.iter().enumerate().all(|(at, condition)| {
            conditions[..at].iter().all(|earlier| agree(earlier, condition))
        }),
    }
}

/// Whether a value, or its absence, can satisfy both conditions. Neither lists its values.
fn agree(a: &Condition, b: &Condition) -> bool {
    match (&a.test, &b.test) {
        (Test::Absent, Test::Absent) => true,
        (Test::Absent, _) | (_, Test::Absent) => false,
        _ if a.negated && b.negated => true,
        _ if a.negated => agree(b, a),
        // All values of `a` begin with its text, end with it or lie in its networks.
        (Test::Prefix, Test::Prefix) if b.negated => !a.text().starts_with(b.text()),
        (Test::Suffix, Test::Suffix) if b.negated => !a.text().ends_with(b.text()),
        (Test::Cidr(a), Test::Cidr(others)) if b.negated => {
            a.iter().any(|network| !contained_in(others, network))
        }
        (Test::Prefix, Test::Prefix) => {
            a.text().starts_with(b.text()) || b.text().starts_with(a.text())
        }
        (Test::Suffix, Test::Suffix) => {
            a.text().ends_with(b.text()) || b.text().ends_with(a.text())
        }
        (Test::Cidr(a), Test::Cidr(b)) => {
            a.iter().any(|network| contained_in(b, network))
                || b.iter().any(|network| contained_in(a, network))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::{ConditionDraft, Op, Operand};

    fn first(conditions: &[(&str, Op, &[&str])]) -> Option<usize> {
        let parse = |(attribute, op, values): &(&str, Op, &[&str])| {
            let value = match (op, values) {
                (op, [_, _, ..] | [_]) if op.takes_list() => {
                    Some(Operand::Many(values.iter().map(ToString::to_string).collect()))
                }
                (_, [value]) => Some(Operand::One((*value).to_owned())),
                _ => None,
            };
            let draft = ConditionDraft { attribute: (*attribute).to_owned(), op: *op, value };
            Condition::parse(draft, "match").expect("a valid condition")
        };
        first_contradiction(&conditions.iter().map(parse).collect::<Vec<_>>())
    }

    #[test]
    fn conditions_that_cannot_hold_together_are_found() {
        let never: [&[(&str, Op, &[&str])]; 14] = [
            &[("a", Op::Prefix, &["/x"]), ("a", Op::Prefix, &["/y"])],
            &[("a", Op::Suffix, &["x"]), ("a", Op::Suffix, &["y"])],
            &[("a", Op::Cidr, &["10.0.0.0/8"]), ("a", Op::Cidr, &["192.168.0.0/16"])],
            &[("a", Op::Cidr, &["10.0.0.0/8"]), ("a", Op::Cidr, &["::/0"])],
            &[("a", Op::Cidr, &["10.0.0.0/8"]), ("a", Op::Cidr, &["11.0.0.0/8", "9.0.0.0/8"])],
            &[("a", Op::NotCidr, &["10.0.0.0/8", "::/0"]), ("a", Op::Cidr, &["10.1.0.0/16"])],
            &[("a", Op::Prefix, &["/x/y"]), ("a", Op::NotPrefix, &["/x"])],
            &[("a", Op::NotSuffix, &["x"]), ("a", Op::Suffix, &["yx"])],
            &[("a", Op::OneOf, &["1", "2"]), ("a", Op::NotOneOf, &["2", "1"])],
            &[("a", Op::OneOf, &["1", "2"]), ("a", Op::OneOf, &["3"])],
            &[("a", Op::OneOf, &["1", "2"]), ("a", Op::Prefix, &["3"])],
            &[("a", Op::Equals, &["x"]), ("a", Op::Cidr, &["10.0.0.0/8"])],
            &[("a", Op::Absent, &[]), ("a", Op::Exists, &[])],
            &[("a", Op::NotEquals, &["1"]), ("a", Op::Absent, &[])],
        ];
        for conditions in never {
            assert_eq!(first(conditions), Some(1), "{conditions:?}");
        }
        let of_three: &[(&str, Op, &[&str])] = &[
            ("a", Op::OneOf, &["1", "2"]),
            ("a", Op::NotEquals, &["1"]),
            ("a", Op::NotEquals, &["2"]),
        ];
        assert_eq!(first(of_three), Some(2));
    }

    #[test]
    fn conditions_that_a_value_satisfies_are_left() {
        let possible: [&[(&str, Op, &[&str])]; 12] = [
            &[("a", Op::Prefix, &["/x"]), ("a", Op::Prefix, &["/x/y"])],
            &[("a", Op::Prefix, &["/x"]), ("b", Op::Prefix, &["/y"])],
            &[("a", Op::Prefix, &["x"]), ("a", Op::Suffix, &["y"])],
            &[("a", Op::Cidr, &["10.0.0.0/8"]), ("a", Op::Cidr, &["10.1.0.0/16"])],
            &[("a", Op::OneOf, &["1", "2"]), ("a", Op::OneOf, &["2", "3"])],
            &[("a", Op::OneOf, &["1", "2"]), ("a", Op::NotEquals, &["1"])],
            &[("a", Op::Exists, &[]), ("a", Op::NotEquals, &["1"])],
            &[("a", Op::Cidr, &["10.0.0.0/8"]), ("a", Op::Cidr, &["11.0.0.0/8", "10.1.0.0/16"])],
            &[("a", Op::Cidr, &["10.0.0.0/8"]), ("a", Op::NotCidr, &["10.1.0.0/16", "::/0"])],
            &[("a", Op::Prefix, &["/x"]), ("a", Op::NotPrefix, &["/x/y"])],
            &[("a", Op::NotPrefix, &["/x"]), ("a", Op::NotPrefix, &["/y"])],
            &[("a", Op::OneOf, &["1", "2"]), ("a", Op::NotOneOf, &["2", "3"])],
        ];
        for conditions in possible {
            assert_eq!(first(conditions), None, "{conditions:?}");
        }
    }
}
