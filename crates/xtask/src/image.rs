//! `cargo xtask image`: builds the images of Dockerfile around the server of the tests, runs them as docker-compose.yml and the
//! chart do, and sends a check each time.
//!
//! Reading order: this file, `build`, `scenarios`, `containers`. Only the store of the images outlives a run: the containers have
//! namespaces of their own for processes, mounts and network, and everything else is in a scratch folder.

mod build;
mod containers;
mod scenarios;

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::workspace::{Workspace, call, capture, step};

/// Builds and runs the images with this server, which must contain its pages.
pub fn run(workspace: &Workspace, weir: &Path) -> Result<()> {
    let root = capture(std::process::Command::new("id").arg("-u"))?.trim() == "0";
    if !cfg!(target_os = "linux") || !root {
        println!("   skipped: only root on Linux can do this");
        return Ok(());
    }
    let store = build::store(workspace)?;
    let lock = std::fs::File::create(store.join("lock")).context("create the lock")?;
    lock.lock().context("wait for another run of this")?;
    let scratch = weir_local::ScratchDir::create()?;
    containers::configure(scratch.path(), &store.join("images"))?;
    step("build the images", || build::run(workspace, scratch.path(), &store, weir))?;
    let hidden = "/run /dev/shm /var/lib/containers";
    let mut inside = containers::isolated(scratch.path(), 400, true, hidden);
    // Not the file of this process: a build has possibly replaced it.
    inside.arg(workspace.target.join("debug").join("xtask"));
    inside.args(["image", "--inside"]).arg(scratch.path()).current_dir(&workspace.root);
    let outcome = call(&mut inside).context("run the images");
    remove_cgroups();
    outcome
}

/// Cgroups are the only thing that no namespace removes. Those that are in use stay.
fn remove_cgroups() {
    let parents =
        "find /sys/fs/cgroup -depth -type d -path '*/libpod_parent*' -exec rmdir {} + 2>&1";
    let _ = std::process::Command::new("sh").args(["-c", parents]).output();
}

/// The second half of [`run`], in namespaces of its own.
pub fn run_inside(workspace: &Workspace, scratch: &Path) -> Result<()> {
    scenarios::run(workspace, scratch)
}
