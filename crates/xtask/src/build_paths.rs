//! The folders of the machine that builds, which no program for users may name. The compiler writes other names.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::{Workspace, capture};

/// A folder of this machine, and the name that replaces it in the program.
pub struct Prefix {
    pub path: PathBuf,
    pub name: &'static str,
    /// A folder inside it, because its path alone could be part of a text by chance.
    pub inside: &'static str,
}

/// The folders of this machine. Of two that match, the compiler takes the last.
pub fn all(workspace: &Workspace) -> Result<Vec<Prefix>> {
    let sysroot = capture(Command::new("rustc").args(["--print", "sysroot"]))?;
    let home = PathBuf::from(env::var_os("HOME").context("HOME is not set")?);
    let cargo = env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let prefix = |path: PathBuf, name, inside| Prefix { path, name, inside };
    Ok(vec![
        prefix(workspace.target.clone(), "target", "release"),
        prefix(cargo, "cargo", "registry"),
        prefix(PathBuf::from(sysroot.trim()), "rust", "lib"),
        prefix(workspace.root.clone(), "weir", "crates"),
    ])
}

impl Prefix {
    /// The option of a compiler that replaces it.
    pub fn flag(&self, option: &str) -> String {
        format!("{option}={}={}", self.path.display(), self.name)
    }
}
