//! `cargo xtask openapi`: the documents of both APIs, as the server prints them, into openapi/. `--check` also lints them by
//! tests/openapi/redocly.yaml.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::setup;
use crate::workspace::{Mode, Workspace, call};

const DOCUMENTS: [&str; 2] = ["control.json", "gate.json"];

pub fn run(workspace: &Workspace, weir: &Path, mode: Mode) -> Result<()> {
    let fresh = workspace.target.join("openapi");
    fs::create_dir_all(&fresh).context("create the working folder")?;
    call(Command::new(weir).args(["openapi", "--out"]).arg(&fresh))?;
    for name in DOCUMENTS {
        let made = fs::read(fresh.join(name)).with_context(|| format!("read the new {name}"))?;
        let committed = workspace.path("openapi").join(name);
        if fs::read(&committed).is_ok_and(|found| found == made) {
            continue;
        }
        if mode == Mode::Check {
            bail!("openapi/{name} is not what the server prints; run: cargo xtask openapi");
        }
        fs::write(&committed, made).with_context(|| format!("write openapi/{name}"))?;
        println!("   openapi/{name} changed");
    }
    if mode == Mode::Check { lint(workspace) } else { Ok(()) }
}

fn lint(workspace: &Workspace) -> Result<()> {
    let redocly = setup::openapi_tool(workspace, "redocly")
        .context("redocly is missing: cargo xtask setup --for test")?;
    call(
        Command::new(redocly)
            .args(["lint", "--config", "tests/openapi/redocly.yaml"])
            .args(DOCUMENTS.map(|name| format!("openapi/{name}")))
            .env("REDOCLY_TELEMETRY", "off")
            .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
            .current_dir(&workspace.root),
    )
}
