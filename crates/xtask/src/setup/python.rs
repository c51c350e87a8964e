//! Python packages of the tests, at exact versions and with their hashes, in virtual environments in the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::{Workspace, call, capture, fingerprint, step};

/// A virtual environment.
struct Environment {
    title: &'static str,
    packages: &'static str,
}

const TOOLS: Environment =
    Environment { title: "the Python packages of the tests", packages: include_str!("python.txt") };
const CLIENTS: Environment = Environment {
    title: "the Python packages of the clients",
    packages: include_str!("clients.txt"),
};

const MAIL: Environment =
    Environment { title: "the SMTP server of the tests", packages: include_str!("mail.txt") };

/// A program of the environment, or its interpreter (`python`), if the environment is complete.
pub fn python_tool(workspace: &Workspace, name: &str) -> Result<Option<PathBuf>> {
    TOOLS.program(workspace, name)
}

/// The interpreter with the packages of the clients, if they are complete.
pub fn client_python(workspace: &Workspace) -> Result<Option<PathBuf>> {
    CLIENTS.program(workspace, "python")
}

pub fn install(workspace: &Workspace) -> Result<()> {
    TOOLS.install(workspace)?;
    CLIENTS.install(workspace)?;
    MAIL.install(workspace)
}

impl Environment {
    fn program(&self, workspace: &Workspace, name: &str) -> Result<Option<PathBuf>> {
        let home = self.home(workspace)?;
        let program = home.join("bin").join(name);
        Ok((home.join(STAMP).is_file() && program.is_file()).then_some(program))
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        if self.program(workspace, "python")?.is_some() {
            return Ok(());
        }
        let home = self.home(workspace)?;
        step(&format!("install {}", self.title), || {
            call(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
            let list = home.join("packages.txt");
            fs::write(&list, self.packages).context("write the list of packages")?;
            call(&mut locked_pip(&home.join("bin").join("python"), &list))?;
            fs::write(home.join(STAMP), "").context("write the stamp")
        })
    }

    /// The name contains the version of Python, because an environment works with one version only.
    fn home(&self, workspace: &Workspace) -> Result<PathBuf> {
        let version = capture(Command::new("python3").arg("--version"))?;
        let inputs = fingerprint([self.packages.as_bytes(), version.as_bytes()]);
        Ok(workspace.cache.join("tools").join(format!("python-{inputs}")))
    }
}

/// An installation of exactly the packages of a list, with their hashes. Nothing is resolved, and nothing is built.
pub fn locked_pip(python: &Path, list: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
        .args(["--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirement"])
        .arg(list);
    pip
}

/// Exists when every package is installed.
const STAMP: &str = "complete";
