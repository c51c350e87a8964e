//! Drafts: rules and limits as a tenant wrote them, not yet checked.
//!
//! A draft mirrors the JSON; `Rule::parse` is the only way from a draft to a rule.

pub use crate::algorithm::LimitDraft;

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
    pub count_by: Vec<String>,
    /// The action on matching requests.
    pub action: Action,
    /// The mode.
    pub mode: Mode,
    /// The limits; only with [`Action::Limit`].
    pub limits: Vec<LimitDraft>,
    /// The time for which a subject is blocked after a denial, in milliseconds.
    pub block_ms: Option<u64>,
    /// The answer while Redis is not available.
    pub on_store_failure: OnStoreFailure,
    /// Whether gates can decide with leased units.
    pub consistency: Consistency,
}

/// A condition as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionDraft {
    /// The attribute that the condition tests.
    pub attribute: String,
    /// The operator.
    pub op: Op,
    /// The operand; several values only for [`Op::OneOf`], none for [`Op::Exists`] and [`Op::Absent`].
    pub value: Option<Operand>,
}

/// The operand of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// One text.
    One(String),
    /// Several texts.
    Many(Vec<String>),
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
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
        }
    };
}

words! {
    /// The action on requests that match a rule. `Deny` wins over `Allow`, `Allow` over `Limit`.
    Action {
        /// The limits decide.
        Limit = "limit",
        /// The request passes without a limit.
        Allow = "allow",
        /// The request is denied.
        Deny = "deny",
    }
}

words! {
    /// Whether a rule is in force.
    Mode {
        /// The rule decides.
        Enforce = "enforce",
        /// The rule is decided and counted separately, and does not affect the answer.
        Shadow = "shadow",
        /// The rule has no effect.
        Off = "off",
    }
}

words! {
    /// The answer of a rule while Redis is not available.
    OnStoreFailure {
        /// The request passes.
        Allow = "allow",
        /// The request is denied.
        Deny = "deny",
        /// Each gate decides with its share of the limit: the limit divided by the live gates.
        Local = "local",
    }
}

words! {
    /// The place where checks are decided.
    Consistency {
        /// Redis decides each check.
        Exact = "exact",
        /// A gate decides with units taken in advance: never more than the limit in total.
        Leased = "leased",
    }
}

words! {
    /// The operator of a condition.
    Op {
        /// The value is the operand.
        Equals = "equals",
        /// The attribute exists and its value is not the operand.
        NotEquals = "not_equals",
        /// The value is one of the operands.
        OneOf = "one_of",
        /// The value begins with the operand.
        Prefix = "prefix",
        /// The value ends with the operand.
        Suffix = "suffix",
        /// The value is an address in this network.
        Cidr = "cidr",
        /// The value matches this regular expression somewhere.
        Regex = "regex",
        /// The attribute exists.
        Exists = "exists",
        /// The attribute does not exist.
        Absent = "absent",
    }
}
