//! Python packages of the tests, at exact versions and with their hashes, in a virtual environment in the cache.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::{Workspace, call, capture, fingerprint, step};

const PACKAGES: &str = include_str!("python.txt");

/// A program of the environment, or its interpreter (`python`), if the environment is complete.
pub fn python_tool(workspace: &Workspace, name: &str) -> Result<Option<PathBuf>> {
    let home = home(workspace)?;
    let program = home.join("bin").join(name);
    Ok((home.join(STAMP).is_file() && program.is_file()).then_some(program))
}

pub fn install(workspace: &Workspace) -> Result<()> {
    if python_tool(workspace, "python")?.is_some() {
        return Ok(());
    }
    let home = home(workspace)?;
    step("install the Python packages of the tests", || {
        call(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
        let list = home.join("packages.txt");
        fs::write(&list, PACKAGES).context("write the list of packages")?;
        // The list is complete, so nothing is resolved, and nothing is built.
        let mut pip = Command::new(home.join("bin").join("python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
            .args(["--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirement"])
            .arg(&list);
        call(&mut pip)?;
        fs::write(home.join(STAMP), "").context("write the stamp")
    })
}

/// The name contains the version of Python, because an environment works with one version only.
fn home(workspace: &Workspace) -> Result<PathBuf> {
    let version = capture(Command::new("python3").arg("--version"))?;
    let inputs = fingerprint([PACKAGES.as_bytes(), version.as_bytes()]);
    Ok(workspace.cache.join("tools").join(format!("python-{inputs}")))
}

/// Exists when every package is installed.
const STAMP: &str = "complete";
