//! `cargo xtask setup`: installs the programs that are missing on this machine. Each step checks first, so nothing is done on
//! a machine that is ready.

mod engines;
mod limiters;
mod packages;
mod purpose;
mod python;
mod system;
mod tools;
mod wasm_std;

use anyhow::Result;

use crate::workspace::Workspace;

pub use limiters::throttlecrab;
pub use packages::{browser_tool, openapi_tool};
pub use purpose::Purpose;
pub use python::{client_python, python_tool};
pub use system::install as install_programs;
pub use tools::{auditable, install_auditable, machete};
pub use wasm_std::{WasmStd, has_std_sources, wasm_std};

pub fn run(workspace: &Workspace, purpose: Purpose) -> Result<()> {
    if purpose != Purpose::Image {
        system::install(purpose)?;
    }
    if purpose == Purpose::Bench {
        limiters::install(workspace);
        return Ok(());
    }
    wasm_std::install(workspace)?;
    if purpose == Purpose::Image {
        tools::install_auditable(workspace)?;
    }
    if purpose == Purpose::Test {
        packages::install(workspace)?;
        python::install(workspace)?;
        engines::install(workspace)?;
        tools::install_checkers(workspace)?;
    }
    Ok(())
}
