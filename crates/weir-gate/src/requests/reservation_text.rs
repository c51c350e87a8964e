//! The text of a reservation, by which its commit finds the counters.
//!
//! It names rules and subjects by their ids and digests, and holds 128 random bits. It is not signed: Redis releases units only
//! if it holds a reservation of the caller's tenant with these bits, and a caller can record any cost at these counters anyway.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use weir_domain::charge::RuleCharge;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::limit::{COST_MAX, EXACT_MAX};
use weir_domain::matching::LIMITS_PER_CHECK_MAX;
use weir_domain::names;
use weir_domain::overrides::Effect;
use weir_domain::request::Request;
use weir_domain::reservation::ReservationId;
use weir_domain::rulebook::{ActiveRule, Rulebook};
use weir_domain::spread::SpreadKey;
use weir_domain::subject::SubjectKey;
use weir_domain::time::{Micros, Timestamp};
use weir_wire::check::Degraded;
use weir_wire::reservations::RESERVATION_CHARS_MAX;

use crate::requests::bytes::Bytes;

/// A reservation as its text states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReservationText {
    pub(crate) id: ReservationId,
    pub(crate) namespace: String,
    pub(crate) spread: SpreadKey,
    pub(crate) rules: Vec<ReservedRule>,
    pub(crate) units: u64,
    pub(crate) ends: Micros,
    /// The answer of `on_store_failure` to the reserve, if Redis could not be reached. Nothing is held.
    pub(crate) degraded: Option<Degraded>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReservedRule {
    id: RuleId,
    subject: SubjectKey,
    /// The key of the override whose limits are in effect.
    override_key: Option<SubjectKey>,
}

const PREFIX: &str = "resv_";
const VERSION: u8 = 1;

impl ReservationText {
    /// The reservation of a request with these charges, before Redis has decided it.
    pub(crate) fn new(
        id: ReservationId,
        request: &Request,
        charges: &[RuleCharge],
        now: Timestamp,
    ) -> Self {
        let rule = |charge: &RuleCharge| ReservedRule {
            id: charge.active.id,
            subject: charge.subject,
            override_key: charge.override_limits.as_ref().and_then(|_| {
                let rule = &charge.active.rule;
                let values = rule.subject_values(|name| request.attribute(name)).ok()?;
                let found = charge.active.overrides.find_keyed(rule, &values, now);
                found.map(|(key, _)| key)
            }),
        };
        Self {
            id,
            namespace: request.namespace().to_owned(),
            spread: charges.first().map_or(SpreadKey::NONE, |charge| charge.spread),
            rules: charges.iter().map(rule).collect(),
            units: 0,
            ends: Micros(0),
            degraded: None,
        }
    }

    /// Whether any limit matched.
    pub(crate) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// The charges to the limits of its rules as they are now. Rules that are gone or off are left out. `None` if they have
    /// more limits than a check can.
    pub(crate) fn charges(
        &self,
        book: &Rulebook,
        tenant: TenantId,
        now: Timestamp,
    ) -> Option<Vec<RuleCharge>> {
        let active = book.rules(tenant, &self.namespace);
        let charge = |rule: &ReservedRule| {
            let is_it = |active: &&Arc<ActiveRule>| active.id == rule.id;
            let active = active.iter().find(is_it)?;
            let found = rule.override_key.and_then(|key| active.overrides.at(key, now));
            let charge = RuleCharge::new(Arc::clone(active), rule.subject, self.spread);
            Some(match found.map(|found| &found.effect) {
                Some(Effect::Limits(limits)) => charge.with_override(limits),
                _ => charge,
            })
        };
        let charges: Vec<_> = self.rules.iter().filter_map(charge).collect();
        let limits: usize = charges.iter().map(|charge| charge.limits().len()).sum();
        (limits <= LIMITS_PER_CHECK_MAX).then_some(charges)
    }

    /// Writes the text.
    pub(crate) fn to_text(&self) -> String {
        let mut bytes = vec![VERSION, degraded_number(self.degraded)];
        bytes.extend(self.id.0);
        for number in [self.units, self.ends.0, self.spread.to_u64()] {
            bytes.extend(number.to_be_bytes());
        }
        // A namespace has at most 63 bytes, and a check at most 64 rules.
        bytes.push(u8::try_from(self.namespace.len()).unwrap_or(u8::MAX));
        bytes.extend(self.namespace.bytes());
        for rule in &self.rules {
            bytes.push(u8::from(rule.override_key.is_some()));
            bytes.extend(rule.id.to_u128().to_be_bytes());
            bytes.extend(rule.subject.0.to_be_bytes());
            bytes.extend(rule.override_key.iter().flat_map(|key| key.0.to_be_bytes()));
        }
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Parses the text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > RESERVATION_CHARS_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
        let mut rest = Bytes(&bytes);
        let ([VERSION], [degraded]) = (rest.take()?, rest.take()?) else { return None };
        let id = ReservationId(rest.take()?);
        let [units, ends, spread] = [rest.number()?, rest.number()?, rest.number()?];
        let [length] = rest.take()?;
        let namespace = String::from_utf8(rest.slice(usize::from(length))?.to_vec()).ok()?;
        let mut rules = Vec::new();
        while !rest.0.is_empty() {
            let [has_override] = rest.take()?;
            let id = RuleId::from_u128(rest.wide()?);
            let subject = SubjectKey(rest.wide()?);
            let override_key = match has_override {
                0 => None,
                1 => Some(SubjectKey(rest.wide()?)),
                _ => return None,
            };
            rules.push(ReservedRule { id, subject, override_key });
        }
        let ids_differ = rules
            .iter()
            .enumerate()
            .all(|(at, rule)| rules[..at].iter().all(|other| other.id != rule.id));
        let fits = ids_differ
            && rules.len() <= LIMITS_PER_CHECK_MAX
            && names::namespace(&namespace).is_ok()
            && ends < EXACT_MAX
            && units <= COST_MAX;
        let spread = SpreadKey::from_u64(spread);
        let ends = Micros(ends);
        let degraded = match degraded {
            0 => None,
            1 => Some(Degraded::Allow),
            2 => Some(Degraded::Deny),
            3 => Some(Degraded::Local),
            _ => return None,
        };
        fits.then_some(Self { id, namespace, spread, rules, units, ends, degraded })
    }
}

const fn degraded_number(degraded: Option<Degraded>) -> u8 {
    match degraded {
        None => 0,
        Some(Degraded::Allow) => 1,
        Some(Degraded::Deny) => 2,
        Some(Degraded::Local) => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest() -> ReservationText {
        let rule = |at: u128| ReservedRule {
            id: RuleId::from_u128(at),
            subject: SubjectKey(at << 64),
            override_key: at.is_multiple_of(2).then_some(SubjectKey(u128::MAX - at)),
        };
        ReservationText {
            id: ReservationId([7; 16]),
            namespace: "n".repeat(63),
            spread: SpreadKey::from_u64(u64::MAX),
            rules: (0..64).map(rule).collect(),
            units: 1_000_000_000,
            ends: Micros(1_763_726_400_000_001),
            degraded: Some(Degraded::Local),
        }
    }

    #[test]
    fn text_is_parsed_to_what_was_written_and_the_largest_one_fits() {
        let text = largest().to_text();
        assert_eq!(ReservationText::parse(&text), Some(largest()));
        assert!(text.len() <= RESERVATION_CHARS_MAX, "{}", text.len());
    }

    #[test]
    fn other_texts_are_no_reservations() {
        let text = largest().to_text();
        assert_eq!(ReservationText::parse(&text[..text.len() - 2]), None, "cut short");
        for other in ["", "resv_", "resv_!", "resv_AA", &text["resv_".len()..], &format!("{text}A")]
        {
            assert_eq!(ReservationText::parse(other), None, "{other}");
        }
        let changed = |change: fn(&mut ReservationText)| {
            let mut reservation = largest();
            change(&mut reservation);
            ReservationText::parse(&reservation.to_text())
        };
        assert_eq!(changed(|reservation| reservation.units += 1), None);
        assert_eq!(changed(|reservation| reservation.ends.0 = 1 << 60), None);
        assert_eq!(changed(|reservation| reservation.namespace = "A".to_owned()), None);
        assert_eq!(
            changed(|reservation| reservation.rules[1] = reservation.rules[0].clone()),
            None
        );
    }
}
