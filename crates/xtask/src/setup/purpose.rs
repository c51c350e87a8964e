//! The purposes of a machine.

use clap::ValueEnum;

/// The purpose of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Purpose {
    /// Running Weir: Postgres, Redis, the dashboard's tools
    Dev,
    /// Building the container image: only the tools of the dashboard and of releases
    Image,
    /// Measuring: a load generator, and another limiter to compare with
    Bench,
    /// Also the tests: a browser, the packages of the browser tests, and checkers of the sources
    Test,
}
