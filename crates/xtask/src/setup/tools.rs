//! Command-line tools that are built from the registry at exact versions: `wasm-bindgen`, which must have the version of the
//! library; the splitter that puts groups of pages into separate files; the build that lists the crates of a binary inside
//! it; and the finder of unused dependencies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::{Workspace, call, capture, on_path, step};

/// The tool, if it is installed.
pub fn bindgen(workspace: &Workspace) -> Result<Option<PathBuf>> {
    let tool = bindgen_tool(workspace)?;
    if let Some(own) = tool.installed(workspace) {
        return Ok(Some(own));
    }
    let other = on_path(tool.program);
    Ok(other.filter(|program| {
        capture(Command::new(program).arg("--version"))
            .is_ok_and(|said| said.split_whitespace().nth(1) == Some(tool.version.as_str()))
    }))
}

/// The tool, which is installed if it is missing: only a whole dashboard needs it. It cannot say its version, so one on the path is
/// not taken.
pub fn splitter(workspace: &Workspace) -> Result<PathBuf> {
    let tool = splitter_tool();
    if tool.installed(workspace).is_none() {
        tool.install(workspace)?;
    }
    tool.installed(workspace).context("cargo installed no wasm-split-cli")
}

pub fn install(workspace: &Workspace) -> Result<()> {
    if bindgen(workspace)?.is_none() {
        bindgen_tool(workspace)?.install(workspace)?;
    }
    Ok(())
}

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
    features: &'static str,
    version: String,
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
            .args(["install", self.package, "--features", self.features, "--version"])
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

fn bindgen_tool(workspace: &Workspace) -> Result<Tool> {
    Ok(Tool {
        package: "wasm-bindgen-cli",
        program: "wasm-bindgen",
        features: "",
        version: library_version(workspace)?,
    })
}

fn splitter_tool() -> Tool {
    Tool {
        package: "wasm_split_cli_support",
        program: "wasm-split-cli",
        features: "build-binary",
        version: SPLITTER_VERSION.to_owned(),
    }
}

fn auditable_tool() -> Tool {
    Tool {
        package: "cargo-auditable",
        program: "cargo-auditable",
        features: "",
        version: "0.7.7".to_owned(),
    }
}

fn machete_tool() -> Tool {
    Tool {
        package: "cargo-machete",
        program: "cargo-machete",
        features: "",
        version: "0.9.2".to_owned(),
    }
}

/// The version in the lock file.
fn library_version(workspace: &Workspace) -> Result<String> {
    let lock = fs::read_to_string(workspace.path("Cargo.lock")).context("read Cargo.lock")?;
    let mut lines = lock.lines().map(str::trim);
    lines
        .find(|line| *line == r#"name = "wasm-bindgen""#)
        .and_then(|_| lines.next())
        .and_then(|line| line.strip_prefix(r#"version = ""#)?.strip_suffix('"'))
        .map(str::to_owned)
        .context("Cargo.lock names no wasm-bindgen")
}

/// Reads what `wasm_split_helpers` of Cargo.lock (a part of Leptos) marks.
const SPLITTER_VERSION: &str = "0.2.4";
