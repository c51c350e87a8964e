//! The id of a lease of a concurrency limit, as callers hold it.
//!
//! It names the counter by ids and digests, and holds 128 random bits. It is not signed: Redis renews and releases only a lease
//! of the caller's tenant with these bits and this time.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::id::RuleId;
use weir_domain::lease::Lease;
use weir_domain::limit::{LEASE_MS_MAX, Limit};
use weir_domain::names;
use weir_domain::spread::SpreadKey;
use weir_domain::subject::SubjectKey;
use weir_wire::leases::LEASE_CHARS_MAX;

use crate::requests::bytes::Bytes;

/// A lease, and the namespace of its rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaseText {
    pub(crate) lease: Lease,
    pub(crate) namespace: String,
}

const PREFIX: &str = "lease_";
const VERSION: u8 = 1;

impl LeaseText {
    /// The lease of a charge to a concurrency limit. `None` for a limit of another kind.
    pub(crate) fn new(
        id: LeaseId,
        namespace: &str,
        charge: &RuleCharge,
        limit: &Limit,
    ) -> Option<Self> {
        let lease = Lease {
            id,
            lease_ms: limit.algorithm.lease_ms()?,
            rule: charge.active.id,
            slot: limit.slot,
            subject: charge.subject,
            spread: charge.spread,
        };
        Some(Self { lease, namespace: namespace.to_owned() })
    }

    /// Writes the text.
    pub(crate) fn to_text(&self) -> String {
        let Lease { id, lease_ms, rule, slot, subject, spread } = self.lease;
        let mut bytes = vec![VERSION];
        bytes.extend(id.0);
        bytes.extend(lease_ms.to_be_bytes());
        bytes.extend(spread.to_u64().to_be_bytes());
        bytes.extend(rule.to_u128().to_be_bytes());
        bytes.extend(slot.to_be_bytes());
        bytes.extend(subject.0.to_be_bytes());
        bytes.extend(self.namespace.bytes());
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Parses the text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > LEASE_CHARS_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
        let mut rest = Bytes(&bytes);
        let [VERSION] = rest.take()? else { return None };
        let lease = Lease {
            id: LeaseId(rest.take()?),
            lease_ms: rest.number()?,
            spread: SpreadKey::from_u64(rest.number()?),
            rule: RuleId::from_u128(rest.wide()?),
            slot: u16::from_be_bytes(rest.take()?),
            subject: SubjectKey(rest.wide()?),
        };
        let namespace = String::from_utf8(rest.0.to_vec()).ok()?;
        let fits =
            (1..=LEASE_MS_MAX).contains(&lease.lease_ms) && names::namespace(&namespace).is_ok();
        fits.then_some(Self { lease, namespace })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest() -> LeaseText {
        let lease = Lease {
            id: LeaseId([7; 16]),
            lease_ms: LEASE_MS_MAX,
            rule: RuleId::from_u128(u128::MAX),
            slot: 9,
            subject: SubjectKey(u128::MAX - 1),
            spread: SpreadKey::from_u64(u64::MAX),
        };
        LeaseText { lease, namespace: "n".repeat(63) }
    }

    #[test]
    fn text_is_parsed_to_what_was_written_and_the_largest_one_fits() {
        let text = largest().to_text();
        assert_eq!(LeaseText::parse(&text), Some(largest()));
        assert!(text.len() <= LEASE_CHARS_MAX, "{}", text.len());
    }

    #[test]
    fn other_texts_are_no_leases() {
        let text = largest().to_text();
        for other in ["", "lease_", "lease_!", "lease_AA", &text[6..], &format!("{text}=")] {
            assert_eq!(LeaseText::parse(other), None, "{other}");
        }
        let changed = |change: fn(&mut LeaseText)| {
            let mut lease = largest();
            change(&mut lease);
            LeaseText::parse(&lease.to_text())
        };
        assert_eq!(changed(|text| text.lease.lease_ms += 1), None);
        assert_eq!(changed(|text| text.lease.lease_ms = 0), None);
        assert_eq!(changed(|text| text.namespace = String::new()), None);
    }
}
