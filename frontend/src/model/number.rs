//! Numbers as people read them.

/// Digits in groups of three: `10,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 rule`, `2 rules`.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    let shown = grouped(u64::try_from(number).unwrap_or(u64::MAX));
    format!("{shown} {}", if number == 1 { one } else { many })
}

/// A whole number as somebody typed it; groups may be set apart by commas, blanks or underscores.
pub fn typed(text: &str) -> Option<u64> {
    let digits: String =
        text.chars().filter(|c| !matches!(c, ',' | '_') && !c.is_whitespace()).collect();
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_of_three() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(1_000_000_000), "1,000,000,000");
        assert_eq!(counted(1, "rule", "rules"), "1 rule");
        assert_eq!(counted(0, "rule", "rules"), "0 rules");
    }

    #[test]
    fn typed_numbers_may_be_grouped() {
        assert_eq!(typed("10,000"), Some(10_000));
        assert_eq!(typed(" 5 "), Some(5));
        for wrong in ["", "-1", "+1", "1.5", "five", "99999999999999999999"] {
            assert_eq!(typed(wrong), None, "{wrong}");
        }
    }
}
