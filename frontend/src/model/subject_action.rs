//! Temporary changes for one subject of a rule, and their texts.

use std::collections::BTreeMap;

use weir_wire::subjects::SubjectOfRule;

use crate::model::duration::short;
use crate::model::number::quantity;
use crate::model::subject;

/// A subject of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSubject {
    pub rule_id: String,
    pub rule: String,
    pub subject: BTreeMap<String, String>,
}

impl RuleSubject {
    pub fn of(found: &SubjectOfRule) -> Self {
        let SubjectOfRule { rule_id, rule, subject, .. } = found;
        Self { rule_id: rule_id.clone(), rule: rule.clone(), subject: subject.clone() }
    }

    /// `user u-17 in login`
    pub fn label(&self) -> String {
        format!("{} in {}", subject::label(&self.subject), self.rule)
    }
}

/// A change for one subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectAction {
    /// Multiplies the limits for some seconds.
    Raise { factor: u32, for_s: u32 },
    /// Allows every check of the subject for some seconds.
    Allow { for_s: u32 },
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
            Self::Allow { for_s } => format!("Allow every check for {}", time(for_s)),
            Self::Block { for_s } => format!("Block for {}", time(for_s)),
            Self::Reset => "Reset counters".to_owned(),
        }
    }

    /// The confirmation of the change in these rules, which count the same subject.
    pub fn done(self, targets: &[RuleSubject]) -> String {
        let whole = targets.iter().flat_map(|target| target.subject.clone()).collect();
        let subject = subject::label(&whole);
        let rule = match targets {
            [only] => only.rule.clone(),
            _ => quantity(targets.len(), "rule", "rules"),
        };
        match self {
            Self::Raise { factor, for_s } => {
                format!("Limits of {subject} in {rule} raised ×{factor} for {}", time(for_s))
            }
            Self::Allow { for_s } => {
                format!("Every check of {subject} in {rule} allowed for {}", time(for_s))
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
        let other = RuleSubject {
            rule: "search".to_owned(),
            subject: BTreeMap::from([("region".to_owned(), "eu".to_owned())]),
            ..target.clone()
        };
        let both = [target.clone(), other];
        let allow = SubjectAction::Allow { for_s: 3_600 };
        assert_eq!(allow.label(), "Allow every check for 1 h");
        assert_eq!(
            allow.done(&both),
            "Every check of region eu, user u-13 in 2 rules allowed for 1 h"
        );
        let target = [target];
        assert_eq!(raise.done(&target), "Limits of user u-13 in login raised ×2 for 1 h");
        let block = SubjectAction::Block { for_s: 604_800 };
        assert_eq!(block.done(&target), "Blocked user u-13 in login for 7 d");
        assert_eq!(SubjectAction::Reset.done(&target), "Reset the counters of user u-13 in login");
    }
}
