//! The standard library for `wasm32-unknown-unknown`, which compilers do not bring along.
//!
//! Route `rustup` is the default. Route `debian` builds it from the distribution's sources of the
//! same compiler version: the fall-back, and the only route when `WEIR_WASM_STD=debian`. When
//! those sources are gone, the frontend is built by the distribution's second toolchain. Two
//! routes are never mixed in one toolchain: that would stop every build (E0464).
//!
//! The sources are installed as well: the whole dashboard is compiled with a library of its own, which is smaller. Checks and
//! drafts use the compiled one.

mod debian;
mod toolchain;
mod web;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::workspace::{Workspace, call, step};
use toolchain::Toolchain;

pub use toolchain::TARGET;

/// The toolchain that can compile for the browser on this machine.
#[derive(Debug)]
pub enum WasmStd {
    /// The toolchain in use.
    Installed,
    /// Debian's second toolchain, which builds the standard library along with the program.
    DebianWeb { linker: PathBuf },
}

/// The toolchain that can compile for the browser, if there is one.
pub fn wasm_std() -> Result<Option<WasmStd>> {
    let toolchain = Toolchain::find()?;
    if toolchain.has_wasm_std() {
        return Ok(Some(WasmStd::Installed));
    }
    Ok(web::is_installed().then(|| WasmStd::DebianWeb { linker: toolchain.linker() }))
}

/// Whether the sources of the toolchain's standard library are there.
pub fn has_std_sources() -> Result<bool> {
    Ok(Toolchain::find()?.library().is_dir())
}

pub fn install(workspace: &Workspace) -> Result<()> {
    let toolchain = Toolchain::find()?;
    if wasm_std()?.is_none() {
        install_compiled(workspace, &toolchain)?;
    }
    if toolchain.has_wasm_std() && !toolchain.library().is_dir() {
        let installed = step("install the sources of the standard library", || {
            install_sources(workspace, &toolchain)
        });
        if let Err(error) = installed {
            println!("   {error:#}; the dashboard is larger without them");
        }
    }
    Ok(())
}

/// The library as a compiled one, for checks and drafts.
fn install_compiled(workspace: &Workspace, toolchain: &Toolchain) -> Result<()> {
    let mut tried = Vec::new();
    if may_ask_rustup() {
        let added = step("add the browser's target with rustup", || {
            call(
                Command::new("rustup").args(["target", "add", TARGET]).current_dir(&workspace.root),
            )
        });
        match added {
            Ok(()) => return Ok(()),
            Err(error) => {
                println!("   {error:#}; falling back to the distribution's sources");
                tried.push(format!("rustup target add: {error:#}"));
            }
        }
    }
    match step("build the browser's standard library from Debian's sources", || {
        debian::install(workspace, toolchain)
    }) {
        Ok(()) => return Ok(()),
        Err(error) => {
            println!("   {error:#}; falling back to Debian's second toolchain");
            tried.push(format!("Debian's rust-src: {error:#}"));
        }
    }
    if let Err(error) = step("install Debian's second toolchain", web::install) {
        tried.push(format!("Debian's rustc-web: {error:#}"));
        bail!(
            "no standard library for {TARGET}. Tried:\n  {}\nRun this, then try again:\n\n    \
             rustup target add {TARGET}\n",
            tried.join("\n  ")
        );
    }
    Ok(())
}

/// The sources, from which the whole dashboard is compiled smaller.
fn install_sources(workspace: &Workspace, toolchain: &Toolchain) -> Result<()> {
    if may_ask_rustup() {
        let mut rustup = Command::new("rustup");
        rustup.args(["component", "add", "rust-src"]).current_dir(&workspace.root);
        match call(&mut rustup) {
            Ok(()) => return Ok(()),
            Err(error) => println!("   {error:#}; falling back to the distribution's sources"),
        }
    }
    debian::install_sources(workspace, toolchain)
}

fn may_ask_rustup() -> bool {
    std::env::var_os("WEIR_WASM_STD").is_none_or(|route| route != "debian")
}
