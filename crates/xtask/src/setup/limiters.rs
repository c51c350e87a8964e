//! Another limiter, from the registry, to compare with. Measuring goes on without it.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, io, thread};

use anyhow::{Context as _, Result, bail};

use crate::workspace::{Workspace, step};

const VERSION: &str = "0.4.40";
/// Built like what it is compared with, which takes a while.
const BUILD_LIMIT: Duration = Duration::from_mins(20);

/// `throttlecrab-server`, if it is installed.
pub fn throttlecrab(workspace: &Workspace) -> Option<PathBuf> {
    let program = home(workspace).join("bin").join("throttlecrab-server");
    program.is_file().then_some(program)
}

pub fn install(workspace: &Workspace) {
    if throttlecrab(workspace).is_some() {
        return;
    }
    let title = format!("build throttlecrab-server {VERSION} (some minutes, once)");
    if let Err(error) = step(&title, || build(workspace)) {
        println!("   {error:#}; its line of the table will say so");
    }
}

fn build(workspace: &Workspace) -> Result<()> {
    let folder = workspace.cache.join("tools").join("build-throttlecrab");
    let mut command = workspace.cargo();
    command
        .args(["install", "throttlecrab-server", "--locked", "--quiet", "--version"])
        .arg(format!("={VERSION}"))
        .arg("--root")
        .arg(home(workspace))
        .arg("--target-dir")
        .arg(&folder);
    let mut child = command.stdout(Stdio::piped()).spawn().context("start cargo install")?;
    let mut output = child.stdout.take().context("its standard output")?;
    let (closed, ended) = mpsc::channel();
    // Its output ends when it does, and a channel can be waited for with a bound.
    thread::spawn(move || {
        let _ = io::copy(&mut output, &mut io::sink());
        let _ = closed.send(());
    });
    if ended.recv_timeout(BUILD_LIMIT).is_err() {
        child.kill().context("stop cargo install")?;
        child.wait()?;
        bail!("it took more than {} minutes", BUILD_LIMIT.as_secs() / 60);
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("cargo install ended with {status}");
    }
    // Another checkout may be building there as well.
    let _ = fs::remove_dir_all(&folder);
    Ok(())
}

fn home(workspace: &Workspace) -> PathBuf {
    workspace.cache.join("tools").join(format!("throttlecrab-server-{VERSION}"))
}
