//! Drafts: rules and limits as a tenant wrote them, not yet checked.
//!
//! A draft mirrors the JSON; `Rule::parse` is the only way from a draft to a rule.

use std::collections::BTreeMap;

pub use crate::algorithm::LimitDraft;
use crate::counted::Counted;
use crate::time::Timestamp;

/// A rule as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleDraft {
    /// The namespace.
    pub namespace: String,
    /// The name, unique in the namespace.
    pub name: String,
    /// A description for people.
    pub description: String,
    /// The conditions, all of which must hold; an empty list matches every request.
    pub conditions: Vec<ConditionDraft>,
    /// The attributes that form the subject.
    pub count_by: Vec<Counted>,
    /// The action on matching requests.
    pub action: Action,
    /// The mode.
    pub mode: Mode,
    /// The limits; only with [`Action::Limit`].
    pub limits: Vec<LimitDraft>,
    /// The times for which a subject is blocked after a denial, in milliseconds: of the first block, of the second one within
    /// `block_memory_ms` after it, and so on. The last one repeats. Empty: no denial blocks.
    pub block_ms: Vec<u64>,
    /// The time after a block in which the next one counts as a further one; only with several `block_ms`.
    pub block_memory_ms: Option<u64>,
    /// The answer while Redis is not available.
    pub on_store_failure: OnStoreFailure,
    /// Whether gates can decide with leased units.
    pub consistency: Consistency,
    /// The regions that share the counters.
    pub reach: Reach,
    /// The answer to a check that costs more than is left.
    pub over: Over,
    /// The classes of checks that leave a share of each limit to others.
    pub priority: Option<PriorityDraft>,
    /// The share of subjects for which the rule is enforced. It is decided as [`Mode::Shadow`] for the others. `None`: all.
    pub enforce_percent: Option<u64>,
    /// Limits that are compared: each subject has those of one variant. Empty: all have `limits`.
    pub variants: Vec<VariantDraft>,
    /// The times at which the rule applies. `None`: always.
    pub active: Option<ScheduleDraft>,
}

/// The classes of the checks of a rule, by the value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PriorityDraft {
    /// The attribute whose value is the class.
    pub attribute: String,
    /// By class, the share of each limit that must be left after a check, in thousandths.
    pub keep: BTreeMap<String, u16>,
}

/// One variant of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VariantDraft {
    /// The name, unique in the rule.
    pub name: String,
    /// The share of subjects that have it.
    pub percent: u64,
    /// The limits of these subjects.
    pub limits: Vec<LimitDraft>,
}

/// The times at which a rule applies.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ScheduleDraft {
    /// The IANA time zone of `weekly`.
    pub zone: Option<String>,
    /// Hours of weekdays such as `Mon-Fri 08:00-18:00`. Empty: at all hours.
    pub weekly: Vec<String>,
    /// The time from which the rule applies.
    pub from: Option<Timestamp>,
    /// The time from which the rule no longer applies.
    pub until: Option<Timestamp>,
}

impl Default for RuleDraft {
    /// A rule of the default namespace without a name and limits.
    fn default() -> Self {
        Self {
            namespace: crate::names::DEFAULT_NAMESPACE.to_owned(),
            name: String::new(),
            description: String::new(),
            conditions: Vec::new(),
            count_by: Vec::new(),
            action: Action::Limit,
            mode: Mode::Enforce,
            limits: Vec::new(),
            block_ms: Vec::new(),
            block_memory_ms: None,
            on_store_failure: OnStoreFailure::Allow,
            consistency: Consistency::Exact,
            reach: Reach::Region,
            over: Over::Deny,
            priority: None,
            enforce_percent: None,
            variants: Vec::new(),
            active: None,
        }
    }
}

/// A condition as written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConditionDraft {
    /// The attribute that the condition tests.
    pub attribute: String,
    /// The operator.
    pub op: Op,
    /// The operand; several values only for [`Op::OneOf`], none for [`Op::Exists`] and [`Op::Absent`].
    pub value: Option<Operand>,
}

/// The operand of a condition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operand {
    /// One text.
    One(String),
    /// Several texts.
    Many(Vec<String>),
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $word:literal ($title:literal $(: $hint:literal)?),)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word used in JSON.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The text that people read in lists and in sentences.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }

            /// The meaning of the value. `None` if its title states it.
            pub fn explanation(self) -> Option<&'static str> {
                let texts: &[&'static str] = match self { $(Self::$variant => &[$($hint)?],)+ };
                texts.first().copied()
            }

            /// The text of the value in a form: the title and, for some values, an explanation.
            pub const fn choice(self) -> &'static str {
                match self { $(Self::$variant => concat!($title $(, ": ", $hint)?),)+ }
            }
        }
    };
}

words! {
    /// The action on requests that match a rule. `Deny` wins over `Allow`, `Allow` over `Limit`.
    Action {
        /// The limits decide.
        Limit = "limit" ("Limit"),
        /// The request passes without a limit.
        Allow = "allow" ("Allow"),
        /// The request is denied.
        Deny = "deny" ("Deny"),
    }
}

words! {
    /// Whether a rule is in force.
    Mode {
        /// The rule decides.
        Enforce = "enforce" ("Enforced"),
        /// The rule denies nothing, and the answer names it if a limit is exceeded.
        Report = "report" ("Report": "deny nothing, and tell the caller when a limit is exceeded"),
        /// The rule is decided and counted separately, and does not affect the answer.
        Shadow = "shadow" ("Shadow": "deny nothing, and count what would be denied"),
        /// The rule has no effect.
        Off = "off" ("Off"),
    }
}

words! {
    /// The answer of a rule while Redis is not available.
    OnStoreFailure {
        /// The request passes.
        Allow = "allow" ("Allow"),
        /// The request is denied.
        Deny = "deny" ("Deny"),
        /// Each gate decides with its share of the limit: the limit divided by the live gates.
        Local = "local" ("Enforce per gate, with a share of the limit"),
    }
}

words! {
    /// The place where checks are decided.
    Consistency {
        /// Redis decides each check.
        Exact = "exact" ("Exact": "Redis decides every request"),
        /// A gate decides with units taken in advance: never more than the limit in total.
        Leased = "leased" ("Leased": "gates reserve units in advance, for lower latency"),
        /// A gate decides with units taken in advance, within the bound of [`crate::approximation`].
        Approximate = "approximate"
            ("Approximate": "leases of a bucket or sliding counter, within a bound"),
    }
}

words! {
    /// The regions that share the counters of a rule.
    Reach {
        /// Each region counts by itself.
        Region = "region" ("Each region": "every region counts by itself"),
        /// All regions count together, in the home region.
        World = "world" ("All regions": "all regions count together, in the home region"),
    }
}

words! {
    /// The answer to a check that costs more than is left.
    Over {
        /// The check is denied and takes nothing.
        Deny = "deny" ("Deny": "a check must cost no more than is left"),
        /// The check passes while anything is left, and takes its whole cost.
        Debt = "debt" ("Debt": "a check passes while anything is left, and takes its whole cost"),
    }
}

words! {
    /// The operator of a condition.
    Op {
        /// The value is the operand.
        Equals = "equals" ("is"),
        /// The attribute exists and its value is not the operand.
        NotEquals = "not_equals" ("is not"),
        /// The value is one of the operands.
        OneOf = "one_of" ("is one of"),
        /// The attribute exists and its value is none of the operands.
        NotOneOf = "not_one_of" ("is not one of"),
        /// The value begins with the operand.
        Prefix = "prefix" ("starts with"),
        /// The attribute exists and its value does not begin with the operand.
        NotPrefix = "not_prefix" ("does not start with"),
        /// The value ends with the operand.
        Suffix = "suffix" ("ends with"),
        /// The attribute exists and its value does not end with the operand.
        NotSuffix = "not_suffix" ("does not end with"),
        /// The value is an address in one of these networks.
        Cidr = "cidr" ("is in CIDR"),
        /// The attribute exists and its value is no address in any of these networks.
        NotCidr = "not_cidr" ("is not in CIDR"),
        /// The value matches this regular expression somewhere.
        Regex = "regex" ("matches regex"),
        /// The attribute exists.
        Exists = "exists" ("exists"),
        /// The attribute does not exist.
        Absent = "absent" ("does not exist"),
    }
}

impl Op {
    /// Whether a condition holds for the values for which its counterpart does not. It never holds for an absent attribute.
    pub const fn is_negated(self) -> bool {
        matches!(
            self,
            Self::NotEquals | Self::NotOneOf | Self::NotPrefix | Self::NotSuffix | Self::NotCidr
        )
    }

    /// Whether the operand is a list, or can be one.
    pub const fn takes_list(self) -> bool {
        matches!(self, Self::OneOf | Self::NotOneOf | Self::Cidr | Self::NotCidr)
    }
}
