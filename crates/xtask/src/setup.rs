//! `cargo xtask setup`: what this machine lacks, installed once. Each step looks first, so a
//! machine that is ready is done in no time.

mod limiters;
mod packages;
mod system;
mod tools;
mod wasm_std;

use anyhow::Result;
use clap::ValueEnum;

use crate::workspace::Workspace;

pub use limiters::throttlecrab;
pub use packages::browser_tool;
pub use tools::{bindgen, splitter};
pub use wasm_std::{WasmStd, wasm_std};

/// What the machine is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Purpose {
    /// Running Weir: Postgres, Redis, the dashboard's tools
    Dev,
    /// Building the container image: only the dashboard's tools
    Image,
    /// Measuring: a load generator, and another limiter to compare with
    Bench,
    /// Also the tests: a browser, and the packages of the browser tests
    Test,
}

pub fn run(workspace: &Workspace, purpose: Purpose) -> Result<()> {
    if purpose != Purpose::Image {
        system::install(purpose)?;
    }
    if purpose == Purpose::Bench {
        limiters::install(workspace);
        return Ok(());
    }
    wasm_std::install(workspace)?;
    tools::install(workspace)?;
    if purpose == Purpose::Test {
        packages::install(workspace)?;
    }
    Ok(())
}
