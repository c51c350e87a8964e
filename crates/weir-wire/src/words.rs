//! The closed sets of words in JSON. Each corresponds to an enum of the domain.

use serde::{Deserialize, Serialize};
use weir_domain::{algorithm, draft, profile};

macro_rules! mirror {
    ($(#[$doc:meta])* $name:ident = $domain:path { $($variant:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(rename_all = "snake_case")]
        #[expect(missing_docs, reason = "the words are explained where the domain defines them")]
        pub enum $name { $($variant,)+ }

        impl From<$name> for $domain {
            fn from(word: $name) -> Self {
                match word { $($name::$variant => Self::$variant,)+ }
            }
        }

        impl From<$domain> for $name {
            fn from(value: $domain) -> Self {
                match value { $(<$domain>::$variant => Self::$variant,)+ }
            }
        }

        impl $name {
            /// All words, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word in JSON.
            pub fn as_str(self) -> &'static str {
                <$domain>::from(self).as_str()
            }

            /// The text that people read in lists and in sentences.
            pub fn title(self) -> &'static str {
                <$domain>::from(self).title()
            }

            /// All words with the texts of a form.
            pub fn choices() -> Vec<(Self, String)> {
                let choice = |word: &Self| (*word, <$domain>::from(*word).choice().to_owned());
                Self::ALL.iter().map(choice).collect()
            }
        }
    };
}

mirror! {
    /// The action of a rule for matching requests.
    Action = draft::Action { Limit, Allow, Deny, }
}
mirror! {
    /// Whether a rule is in force.
    Mode = draft::Mode { Enforce, Report, Shadow, Off, }
}
mirror! {
    /// The answer of a rule while Redis cannot be reached.
    OnStoreFailure = draft::OnStoreFailure { Allow, Deny, Local, }
}
mirror! {
    /// The place of the decision: Redis for each check (`exact`), or a gate with units that it took in advance: of a window
    /// (`leased`, never more than the limit), or of a token bucket or sliding window counter (`approximate`, within a bound).
    Consistency = draft::Consistency { Exact, Leased, Approximate, }
}
mirror! {
    /// The regions that share the counters of a rule: each region has its own (`region`), or all count together in the home region
    /// (`world`).
    Reach = draft::Reach { Region, World, }
}
mirror! {
    /// The answer to a check that costs more than is left: `deny`, or `debt` (the check passes while anything is left, and
    /// takes its whole cost).
    Over = draft::Over { Deny, Debt, }
}
mirror! {
    /// The comparison of a condition.
    Op = draft::Op {
        Equals, NotEquals, OneOf, NotOneOf, Prefix, NotPrefix, Suffix, NotSuffix, Cidr, NotCidr, Regex,
        Exists, Absent,
    }
}
mirror! {
    /// The length of a quota's period; `none` never renews.
    Period = algorithm::Period { Day, Week, Month, Year, None, }
}
mirror! {
    /// The family of headers in which a proxy describes a request, or `rate_limit_service` for calls of that service.
    Reads = profile::Reads { ForwardAuth, AuthRequest, ExtAuthz, RateLimitService, }
}
mirror! {
    /// The attributes of the descriptors of a call of the rate limit service: each has its own (`separate`), or the
    /// entries of all are attributes of one request (`merged`).
    Descriptors = profile::Descriptors { Separate, Merged, }
}
