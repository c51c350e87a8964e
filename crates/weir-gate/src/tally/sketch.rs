//! The busiest subjects in bounded memory: a space-saving sketch.
//!
//! The sketch holds a fixed number of subjects. A new subject takes the place and the count of the least busy one. So a
//! count is too high by at most the least count, and a subject that is not in the sketch made at most that many checks.
//! With n checks and k places that is at most n ÷ k.

use weir_domain::id::RuleId;
use weir_domain::subject::SubjectKey;

/// The most subjects in a sketch.
pub(super) const SUBJECTS_MAX: usize = 64;

/// The busiest subjects of some period.
#[derive(Debug, Default)]
pub(super) struct Sketch {
    /// The tags of `slots`, in a list of their own so that a search reads contiguous memory.
    tags: Vec<u64>,
    counts: Vec<u64>,
    slots: Vec<Slot>,
    checks: u64,
    /// The sum of the floors of the sketches that were added.
    floor_before: u64,
}

/// A subject of a rule.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) rule: RuleId,
    pub(super) subject: SubjectKey,
    pub(super) denied: Denials,
    /// The text that is shown.
    pub(super) text: String,
}

/// The checks that a rule denied, and those that it would have denied outside of shadow mode.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Denials {
    pub(super) enforced: u64,
    pub(super) shadow: u64,
}

impl Sketch {
    /// Counts checks of a subject. `write` writes the text of a new one.
    pub(super) fn add(
        &mut self,
        rule: RuleId,
        subject: SubjectKey,
        checks: u64,
        denied: Denials,
        write: impl FnOnce(&mut String),
    ) {
        self.checks += checks;
        if let Some(at) = self.find(rule, subject) {
            self.counts[at] += checks;
            self.slots[at].denied.enforced += denied.enforced;
            self.slots[at].denied.shadow += denied.shadow;
        } else if self.slots.len() < SUBJECTS_MAX {
            let mut text = String::new();
            write(&mut text);
            self.tags.push(tag(rule, subject));
            self.counts.push(checks);
            self.slots.push(Slot { rule, subject, denied, text });
        } else if let Some((at, _)) =
            self.counts.iter().enumerate().min_by_key(|(_, count)| **count)
        {
            let slot = &mut self.slots[at];
            slot.text.clear();
            write(&mut slot.text);
            (slot.rule, slot.subject, slot.denied) = (rule, subject, denied);
            self.tags[at] = tag(rule, subject);
            self.counts[at] += checks;
        }
    }

    fn find(&self, rule: RuleId, subject: SubjectKey) -> Option<usize> {
        let tag = tag(rule, subject);
        let mut from = 0;
        loop {
            let at = from + self.tags.get(from..)?.iter().position(|other| *other == tag)?;
            if self.slots[at].subject == subject && self.slots[at].rule == rule {
                return Some(at);
            }
            from = at + 1;
        }
    }

    /// Adds the counts of another sketch.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.floor_before += other.floor();
        for (slot, checks) in other.slots() {
            self.add(slot.rule, slot.subject, checks, slot.denied, |text| {
                text.push_str(&slot.text);
            });
        }
    }

    /// Counts checks of unknown subjects.
    pub(super) fn miss(&mut self, checks: u64) {
        self.checks += checks;
        self.floor_before += checks;
    }

    /// The most checks of a subject that is not in the sketch, and the most by which a count is too high.
    pub(super) fn floor(&self) -> u64 {
        let full = self.slots.len() == SUBJECTS_MAX;
        let least = self.counts.iter().min().filter(|_| full);
        self.floor_before + least.copied().unwrap_or(0)
    }

    pub(super) fn checks(&self) -> u64 {
        self.checks
    }

    /// The subjects, each with its number of checks.
    pub(super) fn slots(&self) -> impl Iterator<Item = (&Slot, u64)> {
        self.slots.iter().zip(self.counts.iter().copied())
    }

    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.tags.clear();
        self.counts.clear();
        (self.checks, self.floor_before) = (0, 0);
    }
}

/// Half of the bits of a subject and its rule: equal tags are rare, because a subject's key is a digest.
fn tag(rule: RuleId, subject: SubjectKey) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "half of it is enough")]
    let half = (rule.to_u128() ^ subject.0) as u64;
    half
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> RuleId {
        RuleId::from_u128(1)
    }

    fn count_of(sketch: &Sketch, subject: u128) -> Option<u64> {
        sketch
            .slots()
            .find(|(slot, _)| slot.subject == SubjectKey(subject))
            .map(|(_, checks)| checks)
    }

    /// Many rare subjects around two frequent ones, in the sketches of several shards.
    #[test]
    fn frequent_subjects_are_found_and_wrong_by_the_floor_at_most() {
        let mut all = Sketch::default();
        let (mut total, mut rare) = (0_u64, 100_u128);
        for part in 0..20 {
            let mut sketch = Sketch::default();
            for at in 0..2_000_u128 {
                rare += 1;
                let subject = match at % 10 {
                    0..3 => 1,
                    3 => 2,
                    _ => rare,
                };
                let denied = Denials { enforced: u64::from(part % 2 == 0), shadow: 0 };
                sketch.add(rule(), SubjectKey(subject), 1, denied, |text| text.push('x'));
                total += 1;
            }
            all.absorb(&sketch);
            assert!(all.slots.len() <= SUBJECTS_MAX);
        }
        assert_eq!(all.checks(), total);
        let bound = 2 * total / SUBJECTS_MAX as u64;
        assert!(all.floor() <= bound, "{} of {total}, bound {bound}", all.floor());
        for (subject, truth) in [(1, total * 3 / 10), (2, total / 10)] {
            let count = count_of(&all, subject).expect("frequent subjects are in the sketch");
            assert!(count >= truth && count <= truth + all.floor(), "{count} for {truth}");
        }
    }

    #[test]
    fn few_subjects_are_counted_exactly() {
        let mut sketch = Sketch::default();
        for at in 0..1_000_u128 {
            let denied = Denials { enforced: 0, shadow: u64::from(at % 20 == 0) };
            sketch.add(rule(), SubjectKey(at % 10), 1, denied, |_| {});
        }
        assert_eq!(sketch.floor(), 0);
        assert!((0..10).all(|subject| count_of(&sketch, subject) == Some(100)));
        let mut all = Sketch::default();
        all.absorb(&sketch);
        let denied: Vec<_> = all.slots().map(|(slot, _)| slot.denied).collect();
        assert_eq!(denied[..2], [Denials { enforced: 0, shadow: 50 }, Denials::default()]);
        sketch.miss(7);
        assert_eq!((sketch.floor(), sketch.checks()), (7, 1_007));
    }
}
