//! The outcomes of checks that were sent to try a rule.

use weir_wire::check::CheckAnswer;
use weir_wire::words::Mode;

use crate::model::number::quantity;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Allowed,
    /// A rule in shadow mode would have denied it.
    WouldDeny,
    Denied,
}

impl Outcome {
    pub fn of(answer: &CheckAnswer) -> Self {
        let reported = |mode: Mode| matches!(mode, Mode::Report | Mode::Shadow);
        if !answer.allowed {
            Self::Denied
        } else if answer.limits.iter().any(|limit| reported(limit.mode) && !limit.allowed) {
            Self::WouldDeny
        } else {
            Self::Allowed
        }
    }

    /// The name in the style sheet.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::WouldDeny => "shadow",
            Self::Denied => "denied",
        }
    }
}

/// The result of the checks as a sentence.
pub fn summary(outcomes: &[Outcome]) -> String {
    let count = |wanted| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    let allowed = quantity(count(Outcome::Allowed), "check", "checks");
    match (count(Outcome::Denied), count(Outcome::WouldDeny)) {
        _ if outcomes.is_empty() => String::new(),
        (0, 0) => format!("{allowed} allowed."),
        (0, would) => format!(
            "It works: {allowed} allowed, and {would} more that the rule would deny. Nothing was blocked."
        ),
        (denied, _) => {
            format!("It works: {allowed} allowed, then {denied} denied with status 429.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_says_what_was_blocked() {
        use Outcome::{Allowed, Denied, WouldDeny};
        assert_eq!(summary(&[]), "");
        assert_eq!(summary(&[Allowed]), "1 check allowed.");
        assert_eq!(
            summary(&[Allowed, Allowed, WouldDeny]),
            "It works: 2 checks allowed, and 1 more that the rule would deny. Nothing was blocked."
        );
        assert_eq!(
            summary(&[Allowed, Denied, Denied]),
            "It works: 1 check allowed, then 2 denied with status 429."
        );
    }
}
