//! The settings of the export of decisions.

/// The settings of the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecisionExportSettings {
    /// The share of decisions that are exported.
    pub share: Share,
    /// How lines name the subjects.
    pub subjects: ShownSubjects,
}

/// A share, from more than nothing to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(
    /// In 2^-32. `None` for all.
    Option<u32>,
);

/// How the lines of exported decisions name subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownSubjects {
    /// As digests.
    Hashed,
    /// As the attributes by which rules count.
    Plain,
}

impl Share {
    /// The share of this number, which must be greater than 0 and at most 1.
    pub fn new(share: f64) -> Option<Self> {
        if !(share > 0.0 && share <= 1.0) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the number is between 0 and 2^32, and a float is rounded to the next one in bounds"
        )]
        let fraction = (share * f64::from(u32::MAX)).ceil() as u32;
        Some(Self((share < 1.0).then_some(fraction)))
    }

    /// The share in 2^-32. `None` for all.
    pub(super) fn fraction(self) -> Option<u32> {
        self.0
    }
}
