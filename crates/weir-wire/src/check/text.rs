//! The JSON of an answer, written by hand: byte for byte the output of serde, with a fraction of the instructions. These are
//! most of the cost of a further limit in a gate.

use super::{CheckAnswer, Degraded, LeaseAnswer, LimitAnswer};

/// Room for an answer without limits, and for each of its limits with names of a usual length.
const ANSWER_BYTES: usize = 256;
const LIMIT_BYTES: usize = 320;

/// The JSON of a [`BatchAnswer`](super::BatchAnswer), written one answer at a time: its writer can yield to other requests in
/// between.
#[derive(Debug)]
pub struct BatchText(Vec<u8>);

impl Default for BatchText {
    fn default() -> Self {
        Self(b"{\"results\":[".to_vec())
    }
}

impl BatchText {
    /// Adds the next answer.
    pub fn push(&mut self, answer: &CheckAnswer) {
        if self.0.last() != Some(&b'[') {
            self.0.push(b',');
        }
        answer.write_json(&mut self.0);
    }

    /// The JSON of all answers.
    pub fn finish(mut self) -> Vec<u8> {
        self.0.extend(b"]}");
        self.0
    }
}

impl CheckAnswer {
    /// The JSON of the answer.
    pub fn to_json(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(ANSWER_BYTES + LIMIT_BYTES * self.limits.len());
        self.write_json(&mut text);
        text
    }

    fn write_json(&self, text: &mut Vec<u8>) {
        let Self {
            allowed,
            denied_by,
            retry_after_ms,
            cache_for_ms,
            delay_ms,
            limit,
            remaining,
            reset_after_ms,
            limits,
            over,
            leases,
            charge,
            degraded,
            rulebook_version,
            code,
        } = self;
        let mut text = Text(text);
        text.flag(r#"{"allowed":"#, *allowed);
        text.list(r#","denied_by":["#, denied_by, |text, rule| text.string("", rule));
        text.number_or_null(r#","retry_after_ms":"#, *retry_after_ms);
        match cache_for_ms {
            0 => text.raw(r#","cache_for_ms":0"#),
            ms => text.number(r#","cache_for_ms":"#, *ms),
        }
        text.number(r#","delay_ms":"#, *delay_ms);
        text.number_or_null(r#","limit":"#, *limit);
        text.number_or_null(r#","remaining":"#, *remaining);
        text.number_or_null(r#","reset_after_ms":"#, *reset_after_ms);
        text.list(r#","limits":["#, limits, Text::limit);
        if !over.is_empty() {
            text.list(r#","over":["#, over, |text, rule| text.string("", rule));
        }
        if !leases.is_empty() {
            text.list(r#","leases":["#, leases, Text::lease);
        }
        if let Some(charge) = charge {
            text.word(r#","charge":"#, charge);
        }
        text.raw(match degraded {
            None => r#","degraded":null"#,
            Some(Degraded::Allow) => r#","degraded":"allow""#,
            Some(Degraded::Deny) => r#","degraded":"deny""#,
            Some(Degraded::Local) => r#","degraded":"local""#,
        });
        text.number(r#","rulebook_version":"#, *rulebook_version);
        if let Some(code) = code {
            text.word(r#","code":"#, code.as_str());
        }
        text.raw("}");
    }
}

struct Text<'a>(&'a mut Vec<u8>);

impl Text<'_> {
    fn limit(&mut self, limit: &LimitAnswer) {
        let LimitAnswer {
            rule,
            rule_id,
            algorithm,
            mode,
            allowed,
            limit,
            remaining,
            window_ms,
            reset_after_ms,
            retry_after_ms,
            delay_ms,
            refunded,
        } = limit;
        self.string(r#"{"rule":"#, rule);
        self.string(r#","rule_id":"#, rule_id);
        self.word(r#","algorithm":"#, algorithm.as_str());
        self.word(r#","mode":"#, mode.as_str());
        self.flag(r#","allowed":"#, *allowed);
        self.number(r#","limit":"#, *limit);
        self.number_or_null(r#","remaining":"#, *remaining);
        self.number(r#","window_ms":"#, *window_ms);
        self.number_or_null(r#","reset_after_ms":"#, *reset_after_ms);
        self.number_or_null(r#","retry_after_ms":"#, *retry_after_ms);
        self.number(r#","delay_ms":"#, *delay_ms);
        if let Some(refunded) = refunded {
            self.flag(r#","refunded":"#, *refunded);
        }
        self.raw("}");
    }

    fn lease(&mut self, lease: &LeaseAnswer) {
        let LeaseAnswer { id, rule_id, expires_at_ms } = lease;
        self.string(r#"{"id":"#, id);
        self.string(r#","rule_id":"#, rule_id);
        self.number(r#","expires_at_ms":"#, *expires_at_ms);
        self.raw("}");
    }

    fn raw(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    fn flag(&mut self, before: &str, value: bool) {
        self.raw(before);
        self.raw(if value { "true" } else { "false" });
    }

    fn number(&mut self, before: &str, value: u64) {
        self.raw(before);
        self.raw(itoa::Buffer::new().format(value));
    }

    fn number_or_null(&mut self, before: &str, value: Option<u64>) {
        match value {
            Some(value) => self.number(before, value),
            None => {
                self.raw(before);
                self.raw("null");
            }
        }
    }

    fn string(&mut self, before: &str, value: &str) {
        let is_escaped = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
        // Looks at all bytes, several at a time.
        if value.bytes().fold(false, |found, byte| found | is_escaped(byte)) {
            self.raw(before);
            serde_json::to_writer(&mut *self.0, value).expect("a text is written to memory");
        } else {
            self.word(before, value);
        }
    }

    /// Writes a string of which JSON escapes nothing.
    fn word(&mut self, before: &str, value: &str) {
        self.raw(before);
        self.raw("\"");
        self.raw(value);
        self.raw("\"");
    }

    fn list<T>(&mut self, before: &str, all: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.raw(before);
        for (at, item) in all.iter().enumerate() {
            if at > 0 {
                self.raw(",");
            }
            each(self, item);
        }
        self.raw("]");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::check::{AnswerCode, BatchAnswer};
    use crate::limits::AlgorithmName as Name;
    use crate::words::Mode;

    use super::*;

    const NUMBERS: [u64; 5] = [0, 9, 10, 1_234_567, (1 << 53) - 1];
    const RULES: [&str; 5] =
        ["login", "", "a \"quoted\\ one\"", "with\ta tab\u{1}\u{7f}", "عدّاد 🦀"];
    const NAMES: [Name; 8] = Name::ALL;

    /// An answer that differs from the previous one in every field.
    fn answer(nth: usize) -> CheckAnswer {
        let number = |shift: usize| NUMBERS[(nth + shift) % NUMBERS.len()];
        let perhaps =
            |shift: usize| Some(number(shift)).filter(|_| !(nth + shift).is_multiple_of(3));
        let rule = |shift: usize| Arc::<str>::from(RULES[(nth + shift) % RULES.len()]);
        let limit = |at: usize| LimitAnswer {
            rule: rule(at),
            rule_id: rule(at + 1),
            algorithm: NAMES[(nth + at) % NAMES.len()],
            mode: if (nth + at).is_multiple_of(2) { Mode::Enforce } else { Mode::Shadow },
            allowed: (nth + at).is_multiple_of(3),
            limit: number(at),
            remaining: perhaps(at),
            window_ms: number(at + 1),
            reset_after_ms: perhaps(at + 1),
            retry_after_ms: perhaps(at + 2),
            delay_ms: number(at + 2),
            refunded: [None, Some(true), Some(false)][(nth + at) % 3],
        };
        let lease = |at: usize| LeaseAnswer {
            id: RULES[at % RULES.len()].to_owned(),
            rule_id: rule(at),
            expires_at_ms: number(at),
        };
        CheckAnswer {
            allowed: nth.is_multiple_of(2),
            denied_by: (0..nth % 3).map(rule).collect(),
            retry_after_ms: perhaps(3),
            cache_for_ms: number(2),
            delay_ms: number(3),
            limit: perhaps(4),
            remaining: perhaps(5),
            reset_after_ms: perhaps(6),
            limits: (0..nth % 4).map(limit).collect(),
            over: (0..nth % 3).map(rule).collect(),
            charge: [None, Some("chg_5.1".to_owned())][nth % 2].clone(),
            leases: (0..nth % 3).map(lease).collect(),
            degraded: [None, Some(Degraded::Allow), Some(Degraded::Deny), Some(Degraded::Local)]
                [nth % 4],
            rulebook_version: number(4),
            code: [None, Some(AnswerCode::TenantRate), Some(AnswerCode::EnforcementOff)][nth % 3],
        }
    }

    #[test]
    fn text_is_that_of_serde() {
        for nth in 0..3 * 4 * 5 * 8 {
            let answer = answer(nth);
            let expected = serde_json::to_string(&answer).expect("it is plain data");
            let text = String::from_utf8(answer.to_json()).expect("it is UTF-8");
            assert_eq!(text, expected, "answer {nth}");
        }
    }

    #[test]
    fn text_of_a_batch_is_that_of_serde() {
        for count in 0..4 {
            let batch = BatchAnswer { results: (0..count).map(answer).collect() };
            let mut text = BatchText::default();
            batch.results.iter().for_each(|answer| text.push(answer));
            let expected = serde_json::to_vec(&batch).expect("plain data");
            assert_eq!(text.finish(), expected, "{count} answers");
        }
    }
}
