//! The results of commands, and their exit codes.

use std::process::ExitCode;

/// The result of a command that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Done,
    /// `diff` found differences, or the check of `ask` was denied.
    Different,
    /// `import` left something out.
    LeftOut,
    /// The command failed and has printed why.
    Failed,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Different => Self::from(1),
            Outcome::Failed => Self::from(2),
            Outcome::LeftOut => Self::from(3),
        }
    }
}
