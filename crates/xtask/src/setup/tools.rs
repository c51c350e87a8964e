//! Command-line tools that are built from the registry at exact versions: the build that lists the crates of a binary inside it,
//! and the finder of unused dependencies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::{Workspace, call, step};

/// The build that lists the crates of a binary inside it, if it is installed.
pub fn auditable(workspace: &Workspace) -> Option<PathBuf> {
    auditable_tool().installed(workspace)
}

/// Installs the tool of releases.
pub fn install_auditable(workspace: &Workspace) -> Result<()> {
    if auditable(workspace).is_none() {
        auditable_tool().install(workspace)?;
    }
    Ok(())
}

/// The finder of unused dependencies, if it is installed.
pub fn machete(workspace: &Workspace) -> Option<PathBuf> {
    machete_tool().installed(workspace)
}

/// Installs the tools that check the sources.
pub fn install_checkers(workspace: &Workspace) -> Result<()> {
    if machete(workspace).is_none() {
        machete_tool().install(workspace)?;
    }
    Ok(())
}

/// A package with one program.
struct Tool {
    package: &'static str,
    program: &'static str,
    version: &'static str,
}

impl Tool {
    fn installed(&self, workspace: &Workspace) -> Option<PathBuf> {
        let program = self.home(workspace).join("bin").join(self.program);
        program.is_file().then_some(program)
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        let build = workspace.cache.join("tools").join("build");
        step(&format!("build {} {} (some minutes, once)", self.program, self.version), || {
            // The tool's own lock file may name a release that a mirror does not have (yet).
            call(self.install_command(workspace, &build).arg("--locked")).or_else(|error| {
                println!("   {error:#}; trying with other releases of its dependencies");
                call(&mut self.install_command(workspace, &build))
            })?;
            fs::remove_dir_all(&build).context("remove the tool's build folder")
        })
    }

    fn install_command(&self, workspace: &Workspace, build: &Path) -> Command {
        let mut command = workspace.cargo();
        command
            .args(["install", self.package, "--version"])
            .arg(format!("={}", self.version))
            .arg("--root")
            .arg(self.home(workspace))
            .arg("--target-dir")
            .arg(build)
            // Built for speed of building: it runs for seconds.
            .env("CARGO_PROFILE_RELEASE_LTO", "false")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
        command
    }

    fn home(&self, workspace: &Workspace) -> PathBuf {
        workspace.cache.join("tools").join(format!("{}-{}", self.program, self.version))
    }
}

fn auditable_tool() -> Tool {
    Tool { package: "cargo-auditable", program: "cargo-auditable", version: "0.7.7" }
}

fn machete_tool() -> Tool {
    Tool { package: "cargo-machete", program: "cargo-machete", version: "0.9.2" }
}
