//! Formatting and parsing of numbers.

use weir_domain::quantity::counted;
pub use weir_domain::quantity::grouped;

/// At most four significant characters: `950`, `1.2k`, `34M`.
pub fn compact(number: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| number >= *unit) else {
        return number.to_string();
    };
    let tenths = number / (unit / 10);
    match (tenths / 10, tenths % 10) {
        (whole, tenth) if whole < 10 && tenth > 0 => format!("{whole}.{tenth}{name}"),
        (whole, _) => format!("{}{name}", grouped(whole)),
    }
}

/// A size of at most four significant characters, rounded down: `950 B`, `1.2 KiB`, `64 MiB`.
pub fn bytes(number: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| number >= *unit) else {
        return format!("{number} B");
    };
    match (number / unit, number % unit * 10 / unit) {
        (whole, tenth) if whole < 10 && tenth > 0 => format!("{whole}.{tenth} {name}"),
        (whole, _) => format!("{} {name}", grouped(whole)),
    }
}

/// A count per second over a number of seconds; more than none is never shown as 0.
pub fn per_second(number: u64, seconds: u64) -> String {
    let tenths = u128::from(number) * 10 / u128::from(seconds.max(1));
    match (number, u64::try_from(tenths).unwrap_or(u64::MAX)) {
        (0, _) => "0".to_owned(),
        (_, 0) => "< 0.1".to_owned(),
        (_, tenths @ ..100) => format!("{}.{}", tenths / 10, tenths % 10),
        (_, tenths) => compact(tenths / 10),
    }
}

/// A rounded share in percent; more than none is never shown as 0 %, and less than all never as 100 %.
pub fn share(part: u64, whole: u64) -> String {
    match percent(part, whole) {
        0 if part > 0 && whole > 0 => "< 1%".to_owned(),
        100 if part < whole => "> 99%".to_owned(),
        percent => format!("{percent}%"),
    }
}

/// A share with one decimal below 5 %, for axes whose ticks are close to each other.
pub fn fine_share(part: u64, whole: u64) -> String {
    let tenths = (u128::from(part) * 2_000 + u128::from(whole)) / (u128::from(whole) * 2).max(1);
    match tenths {
        0 if part > 0 => "< 0.1%".to_owned(),
        tenths @ 1..50 => format!("{}.{}%", tenths / 10, tenths % 10),
        _ => share(part, whole),
    }
}

/// A share of a whole that can be too great by `error`; `None` if the error exceeds a tenth of it.
pub fn share_within(part: u64, whole: u64, error: u64) -> Option<String> {
    (u128::from(error) * 10 <= u128::from(whole)).then(|| share(part, whole))
}

/// The shares of a part and of the rest, which add up to 100 %.
pub fn shares(part: u64, rest: u64) -> [String; 2] {
    let whole = part.saturating_add(rest);
    let of_rest = match percent(part, whole) {
        _ if rest == 0 => "0%".to_owned(),
        0 if part > 0 => "> 99%".to_owned(),
        100 => "< 1%".to_owned(),
        percent => format!("{}%", 100 - percent),
    };
    [share(part, whole), of_rest]
}

/// Rounded half up; 0 of nothing.
fn percent(part: u64, whole: u64) -> u128 {
    let (part, whole) = (u128::from(part), u128::from(whole));
    (part * 200 + whole).checked_div(whole * 2).unwrap_or(0)
}

/// The change of a count since an earlier period: `+12%`, `−8%`, `4.2×`; `None` if both are 0.
pub fn change(now: u64, before: u64) -> Option<String> {
    let (this, last) = (u128::from(now), u128::from(before));
    match (now, before) {
        (0, 0) => None,
        (_, 0) => Some("none before".to_owned()),
        _ if now == before => Some("unchanged".to_owned()),
        _ if this >= last * 3 => {
            let tenths = this * 10 / last;
            Some(match (tenths / 10, tenths % 10) {
                (whole @ ..10, tenth @ 1..) => format!("{whole}.{tenth}×"),
                (whole, _) => format!("{}×", grouped(u64::try_from(whole).unwrap_or(u64::MAX))),
            })
        }
        _ => {
            let rounded = (u128::from(now.abs_diff(before)) * 200 + last) / (last * 2);
            let sign = if now > before { '+' } else { '−' };
            Some(format!("{sign}{}%", rounded.max(1)))
        }
    }
}

/// A grouped number that can be negative.
pub fn signed(number: i64) -> String {
    let sign = if number < 0 { "−" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

/// `1 rule`, `2 rules`.
pub fn quantity(number: usize, one: &str, many: &str) -> String {
    counted(u64::try_from(number).unwrap_or(u64::MAX), one, many)
}

/// Parses a whole number; digits can be grouped by commas, spaces or underscores.
pub fn parse(text: &str) -> Option<u64> {
    let digits: String =
        text.chars().filter(|c| !matches!(c, ',' | '_') && !c.is_whitespace()).collect();
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(1_000_000_000), "1,000,000,000");
        assert_eq!(quantity(1, "rule", "rules"), "1 rule");
        assert_eq!(quantity(0, "rule", "rules"), "0 rules");
    }

    #[test]
    fn entered_numbers_can_be_grouped() {
        assert_eq!(parse("10,000"), Some(10_000));
        assert_eq!(parse(" 5 "), Some(5));
        for wrong in ["", "-1", "+1", "1.5", "five", "99999999999999999999"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_have_binary_units() {
        let sizes = [0, 1_023, 1_024, 1_300, 15_360, 64 << 20, 3 << 29];
        let shown: Vec<_> = sizes.into_iter().map(bytes).collect();
        assert_eq!(shown, ["0 B", "1023 B", "1 KiB", "1.2 KiB", "15 KiB", "64 MiB", "1.5 GiB"]);
    }

    #[test]
    fn large_numbers_are_short() {
        let short = [0, 999, 1_000, 1_250, 34_900, 1_000_000_000, 5_100_000_000_000];
        let shown: Vec<_> = short.into_iter().map(compact).collect();
        assert_eq!(shown, ["0", "999", "1k", "1.2k", "34k", "1G", "5,100G"]);
    }

    #[test]
    fn small_rates_have_one_decimal() {
        let shown =
            [(0, 60), (1, 60), (90, 60), (600, 60), (9_999, 1)].map(|(n, s)| per_second(n, s));
        assert_eq!(shown, ["0", "< 0.1", "1.5", "10", "9.9k"]);
    }

    #[test]
    fn shares_round_to_0_or_100_only_when_exact() {
        let shown =
            [(0, 9), (1, 1000), (1, 3), (999, 1000), (7, 7), (0, 0)].map(|(a, b)| share(a, b));
        assert_eq!(shown, ["0%", "< 1%", "33%", "> 99%", "100%", "0%"]);
        assert_eq!([share(635, 1000), share(5, 1000), share(4, 1000)], ["64%", "1%", "< 1%"]);
        let fine = [0, 4, 25, 100, 499, 600].map(|part| fine_share(part, 10_000));
        assert_eq!(fine, ["0%", "< 0.1%", "0.3%", "1.0%", "5%", "6%"]);
    }

    #[test]
    fn shares_of_uncertain_counts_are_left_out() {
        assert_eq!(share_within(30, 860, 86).as_deref(), Some("3%"));
        assert_eq!(share_within(30, 859, 86), None);
        assert_eq!(share_within(1, 2, 0).as_deref(), Some("50%"));
    }

    #[test]
    fn changes_are_shares_or_factors() {
        let cases =
            [(112, 100), (92, 100), (420, 100), (3_000, 100), (5, 0), (7, 7), (1001, 1000), (0, 9)];
        let shown = cases.map(|(now, before)| change(now, before).unwrap_or_default());
        assert_eq!(
            shown,
            ["+12%", "−8%", "4.2×", "30×", "none before", "unchanged", "+1%", "−100%"]
        );
        assert_eq!(change(0, 0), None);
    }

    #[test]
    fn shares_of_a_whole_add_up() {
        assert_eq!(shares(635, 365), ["64%", "36%"]);
        assert_eq!(shares(604, 396), ["60%", "40%"]);
        assert_eq!(shares(1, 999), ["< 1%", "> 99%"]);
        assert_eq!(shares(999, 1), ["> 99%", "< 1%"]);
        assert_eq!(
            [shares(0, 5), shares(5, 0), shares(0, 0)],
            [["0%", "100%"], ["100%", "0%"], ["0%", "0%"]]
        );
    }
}
