//! The `wasm-bindgen` command-line tool, which must be of exactly the library's version.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workshop::{Workshop, call, capture, on_path, step};

/// The tool, if it is installed.
pub fn bindgen(workshop: &Workshop) -> Result<Option<PathBuf>> {
    let version = version(workshop)?;
    let own = home(workshop, &version).join("bin").join("wasm-bindgen");
    if own.is_file() {
        return Ok(Some(own));
    }
    let other = on_path("wasm-bindgen");
    Ok(other.filter(|program| {
        capture(Command::new(program).arg("--version"))
            .is_ok_and(|said| said.split_whitespace().nth(1) == Some(version.as_str()))
    }))
}

pub fn install(workshop: &Workshop) -> Result<()> {
    if bindgen(workshop)?.is_some() {
        return Ok(());
    }
    let version = version(workshop)?;
    let build = workshop.cache.join("tools").join("build");
    step(&format!("build wasm-bindgen {version} (some minutes, once)"), || {
        // The tool's own lock file may name a release that a mirror does not have (yet).
        call(install_command(workshop, &version, &build).arg("--locked")).or_else(|error| {
            println!("   {error:#}; trying with other releases of its dependencies");
            call(&mut install_command(workshop, &version, &build))
        })?;
        fs::remove_dir_all(&build).context("remove the tool's build folder")
    })
}

fn install_command(workshop: &Workshop, version: &str, build: &Path) -> Command {
    let mut command = workshop.cargo();
    command
        .args(["install", "wasm-bindgen-cli", "--version"])
        .arg(format!("={version}"))
        .arg("--root")
        .arg(home(workshop, version))
        .arg("--target-dir")
        .arg(build)
        // Built for speed of building: it runs for seconds.
        .env("CARGO_PROFILE_RELEASE_LTO", "false")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    command
}

fn home(workshop: &Workshop, version: &str) -> PathBuf {
    let name = format!("wasm-bindgen-{version}");
    workshop.cache.join("tools").join(name)
}

/// The version in the lock file.
fn version(workshop: &Workshop) -> Result<String> {
    let lock = fs::read_to_string(workshop.path("Cargo.lock")).context("read Cargo.lock")?;
    let mut lines = lock.lines().map(str::trim);
    lines
        .find(|line| *line == r#"name = "wasm-bindgen""#)
        .and_then(|_| lines.next())
        .and_then(|line| line.strip_prefix(r#"version = ""#)?.strip_suffix('"'))
        .map(str::to_owned)
        .context("Cargo.lock names no wasm-bindgen")
}
