//! Temporary changes for one subject of a rule, and their texts.

use std::collections::BTreeMap;

use crate::model::duration::short;
use crate::model::subject;

/// A subject of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSubject {
    pub rule_id: String,
    pub rule: String,
    pub subject: BTreeMap<String, String>,
}

/// A change for one subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectAction {
    /// Multiplies the limits for some seconds.
    Raise { factor: u32, for_s: u32 },
    /// Denies the subject for some seconds.
    Block { for_s: u32 },
    /// Clears the counters.
    Reset,
}

/// The times for which a change can last, in seconds.
pub const TIMES_S: [u32; 5] = [3_600, 4 * 3_600, 86_400, 7 * 86_400, 30 * 86_400];

impl SubjectAction {
    /// The label of the button.
    pub fn label(self) -> String {
        match self {
            Self::Raise { factor, for_s } => format!("Raise limits ×{factor} for {}", time(for_s)),
            Self::Block { for_s } => format!("Block for {}", time(for_s)),
            Self::Reset => "Reset counters".to_owned(),
        }
    }

    /// The confirmation.
    pub fn done(self, target: &RuleSubject) -> String {
        let (subject, rule) = (subject::label(&target.subject), &target.rule);
        match self {
            Self::Raise { factor, for_s } => {
                format!("Limits of {subject} in {rule} raised ×{factor} for {}", time(for_s))
            }
            Self::Block { for_s } => format!("Blocked {subject} in {rule} for {}", time(for_s)),
            Self::Reset => format!("Reset the counters of {subject} in {rule}"),
        }
    }
}

/// `1 h`, `7 d`.
pub fn time(for_s: u32) -> String {
    short(u64::from(for_s) * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_the_subject_the_rule_and_the_time() {
        let target = RuleSubject {
            rule_id: "rule_1".to_owned(),
            rule: "login".to_owned(),
            subject: BTreeMap::from([("user".to_owned(), "u-13".to_owned())]),
        };
        let raise = SubjectAction::Raise { factor: 2, for_s: 3_600 };
        assert_eq!(raise.label(), "Raise limits ×2 for 1 h");
        assert_eq!(raise.done(&target), "Limits of user u-13 in login raised ×2 for 1 h");
        let block = SubjectAction::Block { for_s: 604_800 };
        assert_eq!(block.done(&target), "Blocked user u-13 in login for 7 d");
        assert_eq!(SubjectAction::Reset.done(&target), "Reset the counters of user u-13 in login");
    }
}
