//! `cargo xtask dev`: from a fresh checkout to a running Weir.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::setup::{self, Purpose};
use crate::workspace::{Workspace, step};
use crate::{dashboard, guide};

/// Returns only when something fails: otherwise this process becomes `weir dev`.
pub fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    setup::run(workspace, Purpose::Dev)?;
    guide::run(workspace)?;
    dashboard::run(workspace)?;
    let weir = step("build the server", || workspace.build_server())?;
    let error = Command::new(weir).arg("dev").args(args).current_dir(&workspace.root).exec();
    Err(error).context("start weir dev")
}
