//! Each comparison, its result for an absent attribute, and the operands that are refused.

use super::*;

fn parse(op: Op, value: Option<Operand>) -> Result<Condition, InvalidField> {
    Condition::parse(ConditionDraft { attribute: "it".into(), op, value }, "match[3]")
}

fn one(op: Op, text: &str) -> Condition {
    parse(op, Some(Operand::One(text.into()))).expect("a valid condition")
}

fn many(texts: &[&str]) -> Condition {
    let texts = texts.iter().map(|&text| text.to_owned()).collect();
    parse(Op::OneOf, Some(Operand::Many(texts))).expect("a valid condition")
}

fn reason(op: Op, value: Option<Operand>) -> String {
    let invalid = parse(op, value).expect_err("refused");
    assert_eq!(invalid.field, "match[3].value");
    invalid.reason
}

/// Asserts that a condition holds for the values `holds` and not for the values `fails`.
fn assert_holds(condition: &Condition, holds: &[&str], fails: &[&str]) {
    for value in holds {
        assert!(condition.holds(Some(value)), "{:?} for {value:?}", condition.draft());
    }
    for value in fails {
        assert!(!condition.holds(Some(value)), "{:?} for {value:?}", condition.draft());
    }
}

#[test]
fn texts_are_compared_byte_by_byte() {
    assert_holds(&one(Op::Equals, "a"), &["a"], &["A", "", "aa", " a"]);
    assert_holds(&one(Op::Equals, ""), &[""], &["a"]);
    assert_holds(&one(Op::NotEquals, "a"), &["A", "", "aa"], &["a"]);
    assert_holds(&one(Op::Prefix, "/api/"), &["/api/", "/api/x"], &["/api", "x/api/", ""]);
    assert_holds(&one(Op::Suffix, ".pdf"), &[".pdf", "a.pdf"], &["pdf", ".PDF", "a.pdf "]);
    assert_holds(&one(Op::Equals, "é"), &["\u{e9}"], &["e\u{301}"]);
}

#[test]
fn one_of_finds_every_listed_value_in_any_order() {
    let values: Vec<String> = (0..OPERANDS_MAX).map(|n| format!("v{}", n * 7919 % 1000)).collect();
    let all: Vec<&str> = values.iter().map(String::as_str).collect();
    let condition = many(&all);
    assert_holds(&condition, &all, &["", "v", "v1000", "V1", "v01"]);
    assert_holds(&many(&["b", "a", "b"]), &["a", "b"], &["ab", "c", ""]);
    assert_eq!(condition.draft().value, Some(Operand::Many(values)), "kept as written");
}

fn several(op: Op, texts: &[&str]) -> Condition {
    let texts = texts.iter().map(|&text| text.to_owned()).collect();
    parse(op, Some(Operand::Many(texts))).expect("a valid condition")
}

#[test]
fn negations_hold_for_every_other_value() {
    assert_holds(&several(Op::NotOneOf, &["b", "a"]), &["", "ab", "A"], &["a", "b"]);
    assert_holds(&one(Op::NotPrefix, "/api/"), &["/api", "", "x/api/"], &["/api/", "/api/x"]);
    assert_holds(&one(Op::NotSuffix, ".pdf"), &["pdf", ".PDF", ""], &[".pdf", "a.pdf"]);
    let outside = ["11.0.0.1", "::1", "no address", "", "0.0.0.0/0"];
    assert_holds(&one(Op::NotCidr, "10.0.0.0/8"), &outside, &["10.1.2.3", "::ffff:10.1.2.3"]);
    let condition = several(Op::NotOneOf, &["a"]);
    assert_eq!((condition.one_of(), condition.equal_to()), (None, None));
}

#[test]
fn lists_of_networks_hold_the_addresses_in_any_of_them() {
    let texts: Vec<String> = (0..998).map(|n| format!("10.{}.{}.0/24", n / 256, n % 256)).collect();
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).rev().collect();
    texts.extend(["2001:db8::/32", "10.0.0.0/16"]);
    let (inside, outside) = (
        ["10.0.0.1", "10.0.255.255", "10.3.229.7", "2001:db8::9", "10.3.1.0/25", "10.0.4.0/23"],
        ["10.3.230.0", "9.255.255.255", "2001:db9::", "10.3.0.0/23", "", "x"],
    );
    assert_holds(&several(Op::Cidr, &texts), &inside, &outside);
    assert_holds(&several(Op::NotCidr, &texts), &outside, &inside);
    let too_many: Vec<String> =
        (0..=OPERANDS_MAX).map(|n| format!("10.0.{}.{}", n / 256, n % 256)).collect();
    for list in [Vec::new(), too_many] {
        assert_eq!(
            reason(Op::Cidr, Some(Operand::Many(list))),
            "must list from 1 to 1000 networks"
        );
    }
    let one_wrong = Some(Operand::Many(vec!["10.0.0.0/8".into(), "10.0.0.1/8".into()]));
    assert!(reason(Op::NotCidr, one_wrong).contains("bits set behind its prefix"));
}

#[test]
fn absent_attribute_meets_absent_and_nothing_else() {
    for op in [Op::Equals, Op::NotEquals, Op::Prefix, Op::NotPrefix, Op::NotSuffix, Op::Regex] {
        assert!(!one(op, "a").holds(None), "{op:?}");
    }
    for op in [Op::Cidr, Op::NotCidr] {
        assert!(!one(op, "0.0.0.0/0").holds(None));
    }
    assert!(!several(Op::NotOneOf, &["a", ""]).holds(None));
    assert!(!many(&["a", ""]).holds(None));
    let (exists, absent) =
        (parse(Op::Exists, None).expect("valid"), parse(Op::Absent, None).expect("valid"));
    assert!(exists.holds(Some("")) && !exists.holds(None));
    assert!(!absent.holds(Some("")) && absent.holds(None));
}

#[test]
fn networks_hold_their_addresses_however_these_are_written() {
    let v4 = ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3", "::ffff:a01:203"];
    let not_v4 = ["11.0.0.0", "9.255.255.255", "::a01:203", "2001:db8::1", "", "x"];
    assert_holds(&one(Op::Cidr, "10.0.0.0/8"), &v4, &not_v4);
    assert_holds(&one(Op::Cidr, "::ffff:10.0.0.0/104"), &v4, &not_v4);
    assert_holds(
        &one(Op::Cidr, "2001:db8::/32"),
        &["2001:db8::", "2001:0DB8:0:0::1", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"],
        &["2001:db9::", "::", "2001:db8::1%eth0", "32.1.13.184"],
    );
    assert_holds(&one(Op::Cidr, "::ffff:1.2.3.4"), &["1.2.3.4"], &["1.2.3.5"]);
    assert_holds(&one(Op::Cidr, "2001:db8::7"), &["2001:db8:0::7"], &["2001:db8::8"]);
    assert_holds(&one(Op::Cidr, "::/0"), &["::1"], &["127.0.0.1"]);
    assert_holds(&one(Op::Cidr, "0.0.0.0/0"), &["1.2.3.4", "::ffff:1.2.3.4"], &["::1"]);
    for wrong in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "localhost", "10.0.0.0 /8"] {
        let reason = reason(Op::Cidr, Some(Operand::One(wrong.into())));
        assert!(reason.contains("must be a network"), "{wrong}: {reason}");
    }
}

#[test]
fn networks_hold_the_networks_inside_them() {
    let inside =
        ["2001:db8:1:2::/64", " 2001:db8:1:2::/64 ", "2001:db8::/32", "2001:db8:1:2::1/128"];
    let outside =
        ["2001:db8::/31", "2001:db9::/64", "::/0", "2001:db8:1:2::1/64", "2001:db8::/", "/64"];
    assert_holds(&one(Op::Cidr, "2001:db8::/32"), &inside, &outside);
    let inside = ["10.1.0.0/16", "::ffff:10.1.0.0/112", "10.1.2.3/32"];
    let outside = ["0.0.0.0/0", "11.0.0.0/16", "10.0.0.0/08", "10.1.2.3/16", "2001:db8::/64"];
    assert_holds(&one(Op::Cidr, "10.0.0.0/8"), &inside, &outside);
    assert_holds(&one(Op::Cidr, "2001:db8:1:2::/64"), &["2001:db8:1:2::/64"], &["2001:db8:1::/48"]);
}

#[test]
fn addresses_are_read_with_ports_brackets_and_blanks() {
    let written = ["10.1.2.3:80", "10.1.2.3 ", " 10.1.2.3", "[10.1.2.3]", "[::ffff:10.1.2.3]:443"];
    let no_address =
        ["010.1.2.3", "10.1.2.3:", "10.1.2.3:99999", "10.1.2.3, 10.0.0.1", "10.1.2.3/8"];
    assert_holds(&one(Op::Cidr, "10.0.0.0/8"), &written, &no_address);
    let written = ["[2001:db8::1]", "[2001:db8::1]:443", " 2001:db8::1 "];
    let no_address = ["[2001:db8::1", "2001:db8::1]", "[2001:db8::1]:"];
    assert_holds(&one(Op::Cidr, "2001:db8::/32"), &written, &no_address);
}

#[test]
fn networks_that_can_be_read_in_two_ways_are_refused_with_the_reason() {
    let refused = |text: &str| reason(Op::Cidr, Some(Operand::One(text.into())));
    for wrong in ["010.0.0.0/8", "10.0.0.0/08", "10.00.0.0/8", "10.0.0.01"] {
        assert!(refused(wrong).contains("without leading zeros"), "{wrong}");
    }
    let reason = refused("10.0.0.1/8");
    assert!(reason.contains("write `10.0.0.0/8`, or `10.0.0.1` for one address"), "{reason}");
    assert!(refused("2001:db8::1/32").contains("bits set behind"));
    for fine in ["10.0.0.0/8", "0.0.0.0/0", "10.0.0.1/32", "10.0.0.1", "::/0", "2001:db8::1/128"] {
        one(Op::Cidr, fine);
    }
}

#[test]
fn operands_of_the_wrong_kind_are_refused() {
    let text = || Some(Operand::One("a".into()));
    let texts = || Some(Operand::Many(vec!["a".into()]));
    for &op in Op::ALL {
        let (wrong, said) = match op {
            Op::Exists | Op::Absent => (vec![text(), texts()], "must be left out"),
            Op::OneOf | Op::NotOneOf => (vec![text(), None], "must be a list of strings"),
            Op::Cidr | Op::NotCidr => (vec![None], "must be a network or a list of networks"),
            _ => (vec![texts(), None], "must be a string"),
        };
        for value in wrong {
            assert!(reason(op, value).contains(said), "{op:?}");
        }
    }
    for op in [Op::Prefix, Op::Suffix] {
        assert_eq!(reason(op, Some(Operand::One(String::new()))), "must not be empty");
    }
    let too_many = vec![String::new(); OPERANDS_MAX + 1];
    for list in [Vec::new(), too_many] {
        assert_eq!(reason(Op::OneOf, Some(Operand::Many(list))), "must list from 1 to 1000 values");
    }
    for bad in ["\n", &"x".repeat(513)] {
        for op in [Op::Equals, Op::NotEquals, Op::Prefix, Op::Suffix, Op::Regex] {
            assert!(parse(op, Some(Operand::One(bad.into()))).is_err(), "{op:?}");
        }
        assert!(parse(Op::OneOf, Some(Operand::Many(vec![bad.into()]))).is_err());
    }
    let draft = ConditionDraft { attribute: "It".into(), op: Op::Exists, value: None };
    let invalid = Condition::parse(draft, "match[0]").expect_err("a bad name");
    assert_eq!(invalid.field, "match[0].attribute");
}

#[cfg(feature = "regex")]
#[test]
fn patterns_match_anywhere_unless_anchored() {
    assert_holds(&one(Op::Regex, "b+"), &["b", "abbc"], &["", "B"]);
    assert_holds(&one(Op::Regex, "^/v[12]/"), &["/v1/x", "/v2/"], &["/v3/", "x/v1/"]);
    assert_holds(&one(Op::Regex, "(?i)^bot$"), &["BOT"], &["robot"]);
    assert_holds(&one(Op::Regex, ""), &["", "x"], &[]);
}

/// With backtracking, the time would double with each character, to 2^500 steps.
#[cfg(feature = "regex")]
#[test]
fn pattern_that_would_explode_elsewhere_takes_linear_time() {
    let value = format!("{}!", "a".repeat(511));
    for pattern in ["^(a+)+$", "^(a|aa)+$", "^(a|a?)+$", "(.*)*x", "^(([a-z])+.)+[A-Z]([a-z])+$"] {
        assert!(!one(Op::Regex, pattern).holds(Some(&value)), "{pattern}");
    }
}

#[cfg(feature = "regex")]
#[test]
fn pattern_that_would_fill_the_memory_or_is_none_is_refused() {
    let refused = |text: &str| reason(Op::Regex, Some(Operand::One(text.into())));
    for large in ["(a{1000}){1000}", r"\w{2000}", "((a{100}){100}){100}"] {
        assert_eq!(refused(large), "is larger than 256 KiB once compiled", "{large}");
    }
    for wrong in ["(", "a**b(", "[z-a]", r"(a)\1", "(?=a)", &"(".repeat(400)] {
        let reason = refused(wrong);
        assert!(reason.starts_with("must be a regular expression: "), "{reason}");
        assert!(!reason.contains('\n'), "{reason}");
    }
}
