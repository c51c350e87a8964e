//! Checks by programs that know their language better than we do: unused dependencies, and the scripts of Redis.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::setup;
use crate::workspace::{Workspace, call, files_below, has_extension};

/// Fails if a manifest names a dependency that no source uses.
pub fn unused_dependencies(workspace: &Workspace) -> Result<()> {
    let machete = setup::machete(workspace)
        .context("cargo-machete is missing: cargo xtask setup --for test")?;
    call(Command::new(machete).args(["--skip-target-dir", "."]).current_dir(&workspace.root))
}

/// Checks the Lua files of the limiter's script, by `.luacheckrc`.
pub fn lua(workspace: &Workspace) -> Result<()> {
    let mut scripts = files_below(&workspace.path("crates/weir-redis/src"))?;
    scripts.retain(|file| has_extension(file, "lua"));
    ensure!(!scripts.is_empty(), "no Lua files were found");
    call(
        Command::new("luacheck")
            .args(["--no-color", "--quiet"])
            .args(scripts)
            .current_dir(&workspace.root),
    )
}
