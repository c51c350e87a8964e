//! `cargo xtask dev`: from a fresh checkout to a running Weir.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::dashboard;
use crate::setup::{self, Purpose};
use crate::workshop::{Workshop, step};

/// Returns only when something fails: otherwise this process becomes `weir dev`.
pub fn run(workshop: &Workshop, args: &[String]) -> Result<()> {
    setup::run(workshop, Purpose::Dev)?;
    dashboard::run(workshop)?;
    let weir = step("build the server", || workshop.build_server())?;
    let error = Command::new(weir).arg("dev").args(args).current_dir(&workshop.root).exec();
    Err(error).context("start weir dev")
}
