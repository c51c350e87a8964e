//! `cargo xtask clients`: checks, tests and builds the packages in clients/, and installs them into empty projects. All of it runs
//! against a gate of the server's program. The work is done in Python, where the tools of the packages are.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::setup;
use crate::workspace::{Workspace, call};

/// Tests the clients in these languages; in all of them if none is named.
pub fn run(workspace: &Workspace, weir: &Path, languages: &[String]) -> Result<()> {
    let python = setup::client_python(workspace)?
        .context("the clients' packages are missing: cargo xtask setup --for test")?;
    let tools = python.ancestors().nth(2).context("the interpreter is not in an environment")?;
    call(
        Command::new(&python)
            .arg("-B")
            .arg(workspace.path("crates/xtask/src/clients/run.py"))
            .arg(weir)
            .arg(tools)
            .args(languages)
            // The Rust client is a workspace of its own; what it depends on is compiled once.
            .env("CARGO_TARGET_DIR", &workspace.target)
            .current_dir(&workspace.root),
    )
}
