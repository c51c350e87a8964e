//! `cargo xtask openapi`: the documents of both APIs, as the server prints them, into openapi/.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::workspace::{Mode, Workspace, call};

pub fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    let weir = workspace.build_server()?;
    let fresh = workspace.target.join("openapi");
    fs::create_dir_all(&fresh).context("create the working folder")?;
    call(Command::new(weir).args(["openapi", "--out"]).arg(&fresh))?;
    for name in ["control.json", "gate.json"] {
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
    Ok(())
}
