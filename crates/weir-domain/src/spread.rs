//! Namespaces that are too large for one primary of Redis: their counters are spread by the values of some attributes.
//!
//! All counters that one check can meet in one call must be at one place. Therefore each rule of such a namespace counts by
//! all of these attributes, or is leased: a gate pays a leased rule from units that it took in advance.

use std::sync::Arc;

use crate::counted::{Counted, Form};
use crate::draft::{Action, Consistency, Mode};
use crate::names::{self, InvalidField};
use crate::rule::{COUNT_BY_MAX, Rule};
use crate::subject::SubjectHasher;

/// The most attributes by which the counters of a namespace are spread.
pub const SPREAD_BY_MAX: usize = COUNT_BY_MAX;
/// The most namespaces of a tenant whose counters are spread.
pub const SPREAD_NAMESPACES_MAX: u64 = 100;

/// The attributes by whose values the counters of a namespace are spread, sorted. Empty if all counters are at one place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpreadBy(Arc<[String]>);

/// The values by which a counter is spread, as a digest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpreadKey(u64);

impl SpreadKey {
    /// The key of counters that are not spread.
    pub const NONE: Self = Self(0);

    /// Whether the counter is spread.
    pub fn is_spread(self) -> bool {
        self != Self::NONE
    }

    /// The key with this digest.
    pub const fn from_u64(digest: u64) -> Self {
        Self(digest)
    }

    /// The digest; 0 if the counter is not spread.
    pub fn to_u64(self) -> u64 {
        self.0
    }
}

impl SpreadBy {
    /// Checks the attributes and reports everything that is wrong with them.
    pub fn parse(mut attributes: Vec<String>) -> Result<Self, Vec<InvalidField>> {
        let mut wrong = Vec::new();
        if attributes.len() > SPREAD_BY_MAX {
            let reason = format!("must hold at most {SPREAD_BY_MAX} attributes");
            wrong.push(InvalidField::new("spread_by", reason));
        }
        for (at, attribute) in attributes.iter().enumerate() {
            let field = format!("spread_by[{at}]");
            if let Err(reason) = names::attribute(attribute) {
                wrong.push(InvalidField::new(field, reason));
            } else if attributes[..at].contains(attribute) {
                wrong.push(InvalidField::new(field, "must not be named twice"));
            }
        }
        attributes.sort_unstable();
        if wrong.is_empty() { Ok(Self(attributes.into())) } else { Err(wrong) }
    }

    /// The attributes.
    pub fn attributes(&self) -> &[String] {
        &self.0
    }

    /// Whether the counters are spread.
    pub fn is_spread(&self) -> bool {
        !self.0.is_empty()
    }

    /// The key of the counters of a rule for these values, which are in the order of `count_by`. The counters of a rule that
    /// does not count by all attributes are not spread.
    pub fn key(&self, count_by: &[impl AsRef<str>], values: &[impl AsRef<str>]) -> SpreadKey {
        if !self.is_spread() {
            return SpreadKey::NONE;
        }
        let mut hasher = SubjectHasher::default();
        for attribute in self.attributes() {
            let at = count_by.iter().position(|counted| counted.as_ref() == attribute);
            let Some(value) = at.and_then(|at| values.get(at)) else { return SpreadKey::NONE };
            hasher.value(attribute, value.as_ref());
        }
        let [high, low] = halves(hasher.finish().0);
        SpreadKey((high ^ low).max(1))
    }

    /// Refuses a rule whose counters can be neither spread nor leased.
    pub fn admit(&self, namespace: &str, rule: &Rule) -> Result<(), InvalidField> {
        let counts = rule.action() == Action::Limit && rule.mode() != Mode::Off;
        let missing: Vec<_> =
            self.attributes().iter().filter(|name| !rule.counts_by(name)).collect();
        let is_changed = |counted: &&Counted| {
            counted.form != Form::Plain && self.attributes().contains(&counted.attribute)
        };
        if let Some(counted) = rule.count_by().iter().find(is_changed).filter(|_| counts) {
            // A check has one hash tag, so all rules of the namespace form it of the same values.
            let reason = format!(
                "must count by `{}` as it is, without `as`, because the counters of the namespace `{namespace}` are spread by it",
                counted.attribute
            );
            return Err(InvalidField::new("count_by", reason));
        }
        if !counts || missing.is_empty() || rule.consistency() == Consistency::Leased {
            return Ok(());
        }
        let reason = format!(
            "must contain {}, because the counters of the namespace `{namespace}` are spread by {}: or set `consistency` to \
             `leased`, which a `fixed_window` or a `quota` permits",
            listed(missing),
            listed(self.attributes()),
        );
        Err(InvalidField::new("count_by", reason))
    }
}

fn listed<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let quoted: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(" and ")
}

fn halves(digest: u128) -> [u64; 2] {
    #[expect(clippy::cast_possible_truncation, reason = "each is one half")]
    let halves = [(digest >> 64) as u64, digest as u64];
    halves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::{LimitDraft, RuleDraft};

    fn spread_by(names: &[&str]) -> SpreadBy {
        SpreadBy::parse(owned(names)).expect("valid")
    }

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn rule(count_by: &[&str], change: impl FnOnce(&mut RuleDraft)) -> Rule {
        let mut draft = RuleDraft {
            namespace: "api".into(),
            name: "rule".into(),
            count_by: count_by.iter().map(|&name| name.into()).collect(),
            limits: vec![LimitDraft::FixedWindow { limit: 5, window_ms: 60_000 }],
            ..RuleDraft::default()
        };
        change(&mut draft);
        Rule::parse(draft).expect("valid")
    }

    #[test]
    fn key_depends_on_the_values_of_the_attributes_alone() {
        let by = spread_by(&["user", "region"]);
        assert_eq!(by, spread_by(&["region", "user"]));
        let key = |count_by: &[&str], values: &[&str]| by.key(&owned(count_by), values);
        let one = key(&["user", "region"], &["ada", "eu"]);
        assert!(one.is_spread());
        assert_eq!(one, key(&["region", "path", "user"], &["eu", "/", "ada"]));
        assert_ne!(one, key(&["user", "region"], &["bob", "eu"]));
        assert_ne!(one, key(&["user", "region"], &["eu", "ada"]));
        assert_eq!(key(&["user"], &["ada"]), SpreadKey::NONE, "one of two attributes");
        assert_eq!(SpreadBy::default().key(&owned(&["user"]), &["ada"]), SpreadKey::NONE);
    }

    #[test]
    fn rules_count_by_the_attributes_or_lease_or_do_not_count() {
        let by = spread_by(&["user"]);
        let fits = |rule: &Rule| by.admit("api", rule).is_ok();
        assert!(fits(&rule(&["path", "user"], |_| {})));
        assert!(fits(&rule(&[], |draft| draft.consistency = Consistency::Leased)));
        assert!(fits(&rule(&["path"], |draft| draft.mode = Mode::Off)));
        assert!(fits(&rule(&[], |draft| {
            draft.action = Action::Deny;
            draft.limits.clear();
        })));
        assert!(!fits(&rule(&["path"], |draft| draft.mode = Mode::Shadow)));
        let refused = by.admit("api", &rule(&["path"], |_| {})).expect_err("counts by path alone");
        assert_eq!(refused.field, "count_by");
        assert!(refused.reason.starts_with("must contain `user`, because"), "{}", refused.reason);
        assert!(SpreadBy::default().admit("api", &rule(&["path"], |_| {})).is_ok());
        let changed = rule(&["user", "path"], |draft| draft.count_by[0].form = Form::Lower);
        let refused = by.admit("api", &changed).expect_err("another key for each spelling");
        assert!(refused.reason.contains("must count by `user` as it is"), "{}", refused.reason);
        assert!(fits(&rule(&["user", "path"], |draft| draft.count_by[1].form = Form::Lower)));
    }

    #[test]
    fn attributes_are_valid_distinct_and_few() {
        let wrong = |names: &[&str]| match SpreadBy::parse(owned(names)) {
            Err(wrong) => wrong.into_iter().map(|wrong| wrong.field).collect(),
            Ok(_) => Vec::new(),
        };
        assert_eq!(wrong(&["user", "User", "user"]), ["spread_by[1]", "spread_by[2]"]);
        let many: Vec<_> = (0..=SPREAD_BY_MAX).map(|number| format!("a{number}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert_eq!(wrong(&many), ["spread_by"]);
        assert!(!spread_by(&[]).is_spread());
    }
}
