//! The npm packages of the browser tests: a browser driver, an accessibility checker, and the
//! optimiser for the dashboard. Exact versions, from the lock file beside the tests.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::{Workspace, call, fingerprint, step};

/// A program from these packages, if they are installed.
pub fn browser_tool(workspace: &Workspace, name: &str) -> Option<PathBuf> {
    let program = workspace.path("tests/browser/node_modules/.bin").join(name);
    program.is_file().then_some(program)
}

pub fn install(workspace: &Workspace) -> Result<()> {
    let folder = workspace.path("tests/browser");
    let lock = fs::read(folder.join("package-lock.json")).context("read package-lock.json")?;
    let wanted = fingerprint([lock.as_slice()]);
    let stamp = folder.join("node_modules").join(".weir-stamp");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    step("install the npm packages of the browser tests", || {
        let mut command = Command::new("npm");
        command
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .args(["--loglevel", "error"])
            .current_dir(&folder);
        call(&mut command).context("is Node.js installed? Version 20 or newer is needed")?;
        fs::write(&stamp, &wanted).context("write the stamp")
    })
}
