//! The findings of an inspection.

/// The effect of a property on Weir.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    Good,
    /// Weir works, and the operator should know this.
    Notice,
    /// Weir cannot work, or counts wrongly.
    Bad,
}

/// A property of Redis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub judgement: Judgement,
    /// The name of the property.
    pub subject: &'static str,
    pub text: String,
}

/// The findings, in the order in which they are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report(pub Vec<Finding>);

impl Report {
    /// Whether Weir can use this Redis.
    pub fn is_suitable(&self) -> bool {
        self.0.iter().all(|finding| finding.judgement != Judgement::Bad)
    }

    pub(super) fn add(
        &mut self,
        judgement: Judgement,
        subject: &'static str,
        text: impl Into<String>,
    ) {
        self.0.push(Finding { judgement, subject, text: text.into() });
    }
}
