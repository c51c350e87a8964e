//! `cargo xtask dev`: from a fresh checkout to a running Weir.

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::thread;

use anyhow::{Context as _, Result, anyhow};

use crate::setup::{self, Purpose};
use crate::workspace::{Workspace, step};
use crate::{dashboard, guide};

/// Returns only when something fails: otherwise this process becomes `weir dev`.
pub fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    setup::install_programs(Purpose::Dev)?;
    // At the same time, because each build has parts that use one processor only.
    let (weir, pages) = thread::scope(|scope| {
        let pages = scope.spawn(|| pages(workspace));
        let weir = step("build the server", || workspace.build_server());
        (weir, pages.join())
    });
    pages.map_err(|_| anyhow!("the build of the dashboard panicked"))??;
    let error = Command::new(weir?).arg("dev").args(args).current_dir(&workspace.root).exec();
    Err(error).context("start weir dev")
}

/// The guide and, unless there is a whole one, a draft of the dashboard.
fn pages(workspace: &Workspace) -> Result<()> {
    setup::run(workspace, Purpose::Dev)?;
    guide::run(workspace)?;
    dashboard::draft(workspace)
}
