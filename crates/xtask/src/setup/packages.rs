//! npm packages at exact versions, from the lock files beside their package.json: those of the browser tests (a browser driver, an
//! accessibility checker, and the optimiser for the dashboard), the language server of editors, those of the TypeScript client, of a
//! project of Nest and of an example that use it, and the tools of the API documents.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::{Workspace, call, fingerprint, step};

/// A program from these packages, if they are installed.
pub fn browser_tool(workspace: &Workspace, name: &str) -> Option<PathBuf> {
    tool(workspace, "tests/browser", name)
}

/// A program from the packages for the API documents, if they are installed.
pub fn openapi_tool(workspace: &Workspace, name: &str) -> Option<PathBuf> {
    tool(workspace, "tests/openapi", name)
}

pub fn install(workspace: &Workspace) -> Result<()> {
    install_in(workspace, "tests/browser", "the npm packages of the browser tests")?;
    install_in(workspace, "tests/editor", "the language server of editors")?;
    install_in(workspace, "clients/typescript", "the npm packages of the TypeScript client")?;
    install_in(workspace, "clients/typescript/test/jest", "Jest, as projects of Nest have it")?;
    install_in(workspace, "examples/api-express", "the npm packages of an example")?;
    install_in(workspace, "tests/oidc", "the OpenID Connect provider of the tests")?;
    install_in(workspace, "tests/openapi", "the tools of the API documents")
}

fn tool(workspace: &Workspace, folder: &str, name: &str) -> Option<PathBuf> {
    let program = workspace.path(folder).join("node_modules/.bin").join(name);
    program.is_file().then_some(program)
}

fn install_in(workspace: &Workspace, folder: &str, title: &str) -> Result<()> {
    let folder = workspace.path(folder);
    let lock = fs::read(folder.join("package-lock.json")).context("read package-lock.json")?;
    let wanted = fingerprint([lock.as_slice()]);
    let stamp = folder.join("node_modules").join(".weir-stamp");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    step(&format!("install {title}"), || {
        let mut command = Command::new("npm");
        command
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .args(["--loglevel", "error"])
            .current_dir(&folder);
        call(&mut command).context("is Node.js installed? Version 20 or newer is needed")?;
        fs::write(&stamp, &wanted).context("write the stamp")
    })
}
