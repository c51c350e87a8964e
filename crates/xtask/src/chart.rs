//! `cargo xtask chart`: lints deploy/chart, renders it with the values of its directory `ci`, validates every object against the
//! schemas of Kubernetes, and checks what no schema states. The work is done in Python, for which Helm is a library.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::setup;
use crate::workspace::{Workspace, call};

pub fn run(workspace: &Workspace) -> Result<()> {
    let python = setup::python_tool(workspace, "python")?
        .context("Helm is missing: cargo xtask setup --for test")?;
    call(
        Command::new(python)
            .arg("-B")
            .arg(workspace.path("crates/xtask/src/chart/check.py"))
            .current_dir(&workspace.root),
    )
}
