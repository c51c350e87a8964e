//! The segments of a rule, and the rule with one variant for all.

use super::segment::Segment;
use super::variants::Variant;
use super::{Limits, Rule};
use crate::draft::Mode;
use crate::id::RuleId;
use crate::subject::SubjectKey;

impl Rule {
    /// The segments to which a check of a charge belongs, by the values of its attributes. An override takes the subject out of an
    /// experiment.
    pub fn segments<'r, 'a>(
        &'r self,
        mode: Mode,
        variant: Option<&'r str>,
        value: impl Fn(&str) -> Option<&'a str>,
    ) -> impl Iterator<Item = Segment<'r>> {
        let controls = self.controls.as_deref();
        let share =
            controls.filter(|own| self.mode == Mode::Enforce && own.enforce_percent.is_some());
        let share = share.map(|_| match mode {
            Mode::Enforce => Segment::Enforced,
            _ => Segment::Shadow,
        });
        let priority = controls.and_then(|controls| controls.priority.as_ref());
        let class = priority.map(|priority| priority.class(value));
        [variant.map(Segment::Variant), share, class].into_iter().flatten()
    }

    /// All segments of the rule's checks, each with its share of the subjects in percent, if it is one of subjects.
    pub fn all_segments(&self) -> Vec<(Segment<'_>, Option<u64>)> {
        let Some(controls) = self.controls.as_deref() else { return Vec::new() };
        let variants = controls.variants.iter().map(Variant::draft);
        let variants =
            variants.map(|variant| (Segment::Variant(&variant.name), Some(variant.percent)));
        let share = controls.enforce_percent.filter(|_| self.mode == Mode::Enforce);
        let share = share.map(|percent| {
            [(Segment::Enforced, Some(percent)), (Segment::Shadow, Some(100 - percent))]
        });
        let classes = controls.priority.as_ref().map(|priority| {
            let listed = priority.draft().keep.keys().map(|class| Segment::Class(class));
            listed.chain([Segment::OtherClasses, Segment::NoClass])
        });
        let classes = classes.into_iter().flatten().map(|class| (class, None));
        variants.chain(share.into_iter().flatten()).chain(classes).collect()
    }

    /// The variant of a subject of the rule of this id.
    pub fn variant_of(&self, id: RuleId, subject: SubjectKey) -> Option<&str> {
        let (at, _) = self.part(id, || subject).variant?;
        self.variants().nth(at.into())
    }

    /// The rule with the limits of one variant for all subjects.
    #[must_use]
    pub fn with_variant(&self, at: usize) -> Option<Self> {
        let mut controls = self.controls.as_deref()?.clone();
        let variant = std::mem::take(&mut controls.variants).into_iter().nth(at)?;
        let drafts = variant.draft().limits.clone().into();
        let limits = Limits { drafts, checked: variant.limits.iter().cloned().collect() };
        Some(Self { limits: limits.into(), controls: Some(controls.into()), ..self.clone() })
    }
}
