//! Passwords that attackers guess first: a list of about 20,000, simple variations of them, and regular sequences.

/// The list, sorted by bytes, in lower case, one per line. Licence: `LICENSE` beside it.
const LIST: &str = include_str!("common.txt");
/// The most digits and signs around a common word that still make a common password.
const AFFIX_CHARS_MAX: usize = 6;
/// The most characters of a sequence or repetition that attackers guess first.
const REGULAR_CHARS_MAX: usize = 32;

/// Whether a password is common, or derives from a common one by case, by signs for letters or by digits around it.
pub(super) fn is_common(password: &str) -> bool {
    let lower = password.to_lowercase();
    let bare = without_affixes(&lower);
    let variations = [Some(lower.as_str()), bare].into_iter().flatten();
    is_regular(&lower)
        || variations
            .flat_map(|text| [text.to_owned(), with_letters(text, 'i'), with_letters(text, 'l')])
            .any(|text| listed(&text))
}

fn listed(text: &str) -> bool {
    let lines = LIST.as_bytes();
    let mut low = 0;
    let mut high = lines.len();
    while low < high {
        let middle = low + (high - low) / 2;
        let start = lines[..middle].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let end = lines[middle..]
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(lines.len(), |at| middle + at);
        match lines[start..end].cmp(text.as_bytes()) {
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Less => low = end + 1,
            std::cmp::Ordering::Greater => high = start,
        }
    }
    false
}

/// The text without the digits and signs around it, if at least three characters remain and few were removed.
fn without_affixes(text: &str) -> Option<&str> {
    let bare = text.trim_matches(|c: char| !c.is_alphabetic());
    let taken = text.chars().count() - bare.chars().count();
    (bare.chars().count() >= 3 && taken <= AFFIX_CHARS_MAX).then_some(bare)
}

/// Replaces signs with the letters that they stand for. `one` is the letter for a 1.
fn with_letters(text: &str, one: char) -> String {
    let letter = |c| match c {
        '0' => 'o',
        '1' | '!' | '|' => one,
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' | '+' => 't',
        other => other,
    };
    text.chars().map(letter).collect()
}

/// Whether a text has at most two different characters, or each character follows the one before it in Unicode's order.
fn is_regular(text: &str) -> bool {
    let mut different: Vec<char> = text.chars().collect();
    let steps: Vec<i64> = different
        .windows(2)
        .map(|pair| i64::from(u32::from(pair[1])) - i64::from(u32::from(pair[0])))
        .collect();
    let row = steps.iter().all(|&step| step == 1) || steps.iter().all(|&step| step == -1);
    different.sort_unstable();
    different.dedup();
    steps.len() < REGULAR_CHARS_MAX && (row || different.len() <= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_long_enough() {
        let lines: Vec<&str> = LIST.lines().collect();
        assert!(lines.len() >= 10_000, "{}", lines.len());
        assert!(lines.is_sorted());
        for line in [lines[0], lines[1], lines[lines.len() / 3], lines[lines.len() - 1]] {
            assert!(listed(line), "{line}");
        }
        assert!(!listed("") && !listed("correct horse") && !listed("~~~~~~~~~~"));
    }

    #[test]
    fn passwords_of_leaked_lists_and_their_variations_are_common() {
        for password in [
            "jennifer",
            "michael1",
            "P@ssw0rd1",
            "Welcome123",
            "aaaaaaaa",
            "22222222",
            "Summer2026",
            "Password123",
            "p@$$w0rd",
            "!Dragon99!",
            "abcdefghij",
            "9876543210",
            "121212121212",
            "qwerty123456",
            "iloveyou",
        ] {
            assert!(is_common(password), "{password}");
        }
        for password in
            ["correct horse", "battery staple", " leading blank", "tq8vj2mx4k", "Zürich im Regen"]
        {
            assert!(!is_common(password), "{password}");
        }
    }
}
