//! Drafts: rules and limits as somebody wrote them, not yet checked.
//!
//! A draft mirrors the JSON; `Rule::parse` is the only way from a draft to a rule.

pub use crate::algorithm::LimitDraft;

/// A rule as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleDraft {
    /// Which group of rules.
    pub namespace: String,
    /// Unique in the namespace.
    pub name: String,
    /// For people.
    pub description: String,
    /// All of these must hold; none matches everything.
    pub conditions: Vec<ConditionDraft>,
    /// The attributes that form the subject.
    pub count_by: Vec<String>,
    /// What happens to matching requests.
    pub action: Action,
    /// Whether it is in force.
    pub mode: Mode,
    /// What is admitted; only with [`Action::Limit`].
    pub limits: Vec<LimitDraft>,
    /// How long a subject is refused after a denial, in milliseconds.
    pub block_ms: Option<u64>,
    /// What answers while Redis cannot be asked.
    pub on_store_failure: OnStoreFailure,
    /// Who decides.
    pub consistency: Consistency,
}

/// A condition as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionDraft {
    /// The attribute it looks at.
    pub attribute: String,
    /// How it compares.
    pub op: Op,
    /// With what; several only for [`Op::OneOf`], none for [`Op::Exists`] and [`Op::Absent`].
    pub value: Option<Operand>,
}

/// What a condition compares with.
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
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word used in JSON.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }
    };
}

words! {
    /// What happens to requests that match a rule. `Deny` wins over `Allow`, `Allow` over `Limit`.
    Action {
        /// Its limits are asked.
        Limit = "limit",
        /// They pass and no limit is asked.
        Allow = "allow",
        /// They are refused.
        Deny = "deny",
    }
}

words! {
    /// Whether a rule is in force.
    Mode {
        /// It decides.
        Enforce = "enforce",
        /// It is decided and counted on its own, and influences nothing.
        Shadow = "shadow",
        /// It does nothing.
        Off = "off",
    }
}

words! {
    /// What answers for a rule while Redis cannot be asked.
    OnStoreFailure {
        /// The request passes.
        Allow = "allow",
        /// The request is refused.
        Deny = "deny",
        /// The gate decides alone, with the limit divided by the live gates.
        Local = "local",
    }
}

words! {
    /// Who decides.
    Consistency {
        /// Redis, each time.
        Exact = "exact",
        /// A gate, from units taken in advance: never more than the limit in total.
        Leased = "leased",
    }
}

words! {
    /// How a condition compares.
    Op {
        /// The value is the operand.
        Equals = "equals",
        /// The value is there and is not the operand.
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
        /// The attribute is there.
        Exists = "exists",
        /// The attribute is not there.
        Absent = "absent",
    }
}
