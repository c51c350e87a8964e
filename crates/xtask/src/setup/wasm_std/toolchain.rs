//! The compiler in use, and whether it can compile for the browser.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::{capture, has_extension};

pub const TARGET: &str = "wasm32-unknown-unknown";

/// The compiler in use.
#[derive(Debug)]
pub struct Toolchain {
    sysroot: PathBuf,
    pub version: String,
    host: String,
}

impl Toolchain {
    pub fn find() -> Result<Self> {
        let sysroot = capture(Command::new("rustc").args(["--print", "sysroot"]))?;
        let about = capture(Command::new("rustc").arg("-vV"))?;
        let line = |label: &str| {
            let found = about.lines().find_map(|line| line.strip_prefix(label));
            found.map(str::to_owned).context("rustc -vV is incomplete")
        };
        Ok(Self {
            sysroot: PathBuf::from(sysroot.trim()),
            version: line("release: ")?,
            host: line("host: ")?,
        })
    }

    pub fn rustlib(&self) -> PathBuf {
        self.sysroot.join("lib").join("rustlib")
    }

    pub fn wasm_lib(&self) -> PathBuf {
        self.rustlib().join(TARGET).join("lib")
    }

    pub fn linker(&self) -> PathBuf {
        self.rustlib().join(&self.host).join("bin").join("rust-lld")
    }

    /// Where the sources of the standard library lie, if they are there.
    pub fn library(&self) -> PathBuf {
        self.rustlib().join("src/rust/library")
    }

    pub fn has_wasm_std(&self) -> bool {
        list(&self.wasm_lib()).iter().any(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libstd-") && has_extension(file, "rlib")
        })
    }
}

pub fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
