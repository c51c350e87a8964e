//! Identifiers: a ULID with a prefix that names its kind, so that ids of different kinds are never confused.
//!
//! An id is made from a supplied time and supplied randomness, written as `rule_01J…`, and stored as a `uuid`.

use std::fmt;
use std::str::FromStr;

use ulid::Ulid;

use crate::time::Timestamp;

/// A text that is not an identifier of the expected kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidId {
    /// The prefix that was expected, without the underscore.
    pub kind: &'static str,
}

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must be `{}_` and 26 characters of Crockford's base 32", self.kind)
    }
}

impl std::error::Error for InvalidId {}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Ulid);

        impl $name {
            /// The word before the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// Makes an id from a time and at least 80 bits of randomness.
            pub fn new(at: Timestamp, random: u128) -> Self {
                Self(Ulid::from_parts(at.as_millis_u64(), random))
            }

            /// A buffer for [`Self::write`].
            pub const TEXT: [u8; Self::PREFIX.len() + 27] = [b'0'; Self::PREFIX.len() + 27];

            /// Writes the text without an allocation, to a buffer that begins as [`Self::TEXT`].
            pub fn write(self, text: &mut [u8; Self::PREFIX.len() + 27]) -> &str {
                let (prefix, body) = text.split_at_mut(Self::PREFIX.len() + 1);
                prefix.copy_from_slice(concat!($prefix, "_").as_bytes());
                let body = body.first_chunk_mut().expect("an id has 26 characters");
                self.0.array_to_str(body);
                std::str::from_utf8(text).expect("ids are ASCII")
            }

            /// The number that is stored.
            pub fn to_u128(self) -> u128 {
                self.0.0
            }

            /// Makes an id from the stored number.
            pub const fn from_u128(value: u128) -> Self {
                Self(Ulid(value))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let invalid = InvalidId { kind: $prefix };
                let body = text.strip_prefix(concat!($prefix, "_")).ok_or(invalid)?;
                let ulid = Ulid::from_string(body).map_err(|_| invalid)?;
                // An id has one spelling: lower case and look-alike letters are refused.
                if ulid.to_string() == body { Ok(Self(ulid)) } else { Err(invalid) }
            }
        }
    )+};
}

ids! {
    /// A tenant: a customer of this installation.
    TenantId = "tenant";
    /// A person with a sign-in.
    UserId = "user";
    /// A signed-in session of a person.
    SessionId = "session";
    /// An API key.
    KeyId = "key";
    /// A rule.
    RuleId = "rule";
    /// A per-subject override of a rule.
    OverrideId = "override";
    /// A profile, by which a proxy asks.
    ProfileId = "profile";
    /// A plan, on which a tenant's customers are.
    PlanId = "plan";
    /// The assignment of a customer to a plan.
    AssignmentId = "assignment";
    /// An invitation to join a tenant.
    InvitationId = "invitation";
    /// An entry of the audit log.
    AuditId = "audit";
    /// An entry of the log of refused checks.
    DenialId = "denial";
    /// A request of a caller. Answers have it as `x-request-id`.
    RequestId = "req";
    /// A webhook of a tenant.
    WebhookId = "webhook";
    /// A delivery to a webhook, however often it is attempted.
    DeliveryId = "delivery";
    /// A job that waits until the limits permit it. It follows from the tenant and the job's idempotency key.
    DeferredId = "deferred";
    /// An alert of a tenant.
    AlertId = "alert";
    /// One running gate process.
    GateId = "gate";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_comes_back_and_names_its_kind() {
        let id = RuleId::new(Timestamp::from_millis(1_700_000_000_000), 7);
        let text = id.to_string();
        assert!(text.starts_with("rule_01"), "{text}");
        assert_eq!(text.parse(), Ok(id));
        assert_eq!(text.parse::<KeyId>(), Err(InvalidId { kind: "key" }));
        assert_eq!(text.to_lowercase().parse::<RuleId>(), Err(InvalidId { kind: "rule" }));
        assert_eq!(RuleId::from_u128(id.to_u128()), id);
    }
}
