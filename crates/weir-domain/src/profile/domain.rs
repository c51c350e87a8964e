//! The part of a profile that reads the rate limit service.

use std::collections::BTreeMap;

use super::descriptor::attribute_of_key;
use crate::names::{self, ATTRIBUTES_MAX, InvalidField};

/// The domain of a profile for all domains without one.
pub const ANY_DOMAIN: &str = "*";
/// The most bytes of a domain.
pub const DOMAIN_BYTES_MAX: usize = 256;

/// A domain of the rate limit service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainDraft {
    /// The domain that the proxy's filter names, or [`ANY_DOMAIN`]. Unique in the tenant.
    pub name: String,
    /// Whether each descriptor has attributes of its own.
    pub descriptors: Descriptors,
    /// Names of attributes, by the keys of entries.
    pub rename: BTreeMap<String, String>,
}

/// The attributes of the descriptors of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Descriptors {
    /// Each descriptor has attributes of its own.
    #[default]
    Separate,
    /// The entries of all descriptors are attributes of one request.
    Merged,
}

impl Descriptors {
    /// The name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Separate => "separate",
            Self::Merged => "merged",
        }
    }

    /// The text that people read in lists.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Separate => "Separate",
            Self::Merged => "Merged",
        }
    }

    /// The text of a form.
    pub const fn choice(self) -> &'static str {
        match self {
            Self::Separate => "Separate: each descriptor has attributes of its own",
            Self::Merged => "Merged: one request has the entries of all descriptors",
        }
    }
}

impl DomainDraft {
    /// Gives the keys of `rename` the form that keys of entries get.
    pub(super) fn normalise(&mut self) -> Vec<InvalidField> {
        let mut wrong = Vec::new();
        let is_text = !self.name.chars().any(char::is_control);
        if !(1..=DOMAIN_BYTES_MAX).contains(&self.name.len()) || !is_text {
            let reason =
                format!("must be 1 to {DOMAIN_BYTES_MAX} bytes without control characters");
            wrong.push(InvalidField::new("domain", reason));
        }
        if self.rename.len() > ATTRIBUTES_MAX {
            let reason = format!("must hold at most {ATTRIBUTES_MAX} keys");
            wrong.push(InvalidField::new("rename", reason));
        }
        for (key, name) in std::mem::take(&mut self.rename) {
            if let Err(reason) = names::attribute(&name) {
                let shown: String = key.chars().take(64).collect();
                let field = format!("rename.{}", shown.escape_debug());
                wrong.push(InvalidField::new(field, reason));
            }
            self.rename.insert(attribute_of_key(&key, |_| false), name);
        }
        wrong
    }
}
