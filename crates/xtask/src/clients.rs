//! `cargo xtask clients`: checks, tests and builds the packages in clients/, and installs them into empty projects. All of it runs
//! against a gate of the server's program. The work is done in Python, where the tools of the packages are.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::setup;
use crate::workspace::{Workspace, call};

/// Tests the clients in these languages; in all of them if none is named.
pub fn run(workspace: &Workspace, weir: &Path, languages: &[String]) -> Result<()> {
    let (python, tools) = tools(workspace)?;
    call(
        Command::new(&python)
            .arg("-B")
            .arg(workspace.path("crates/xtask/src/clients/run.py"))
            .arg(weir)
            .arg(tools)
            .args(languages)
            // The Rust client is a workspace of its own; what it depends on is compiled once.
            .env("CARGO_TARGET_DIR", &workspace.target)
            .current_dir(&workspace.root),
    )
}

/// Measures a check by each client beside the same request by the HTTP library of its language, and writes the table into the page.
/// `sizes` are the number of rounds and of calls in each, by default 20 and 1,000.
pub fn bench(workspace: &Workspace, weir: &Path, sizes: &[String]) -> Result<()> {
    let (rounds, calls) = match sizes {
        [] => ("20", "1000"),
        [rounds, calls] => (rounds.as_str(), calls.as_str()),
        _ => bail!("usage: cargo xtask bench clients [ROUNDS CALLS]"),
    };
    let (python, _) = tools(workspace)?;
    call(
        Command::new(&python)
            .arg("-B")
            .arg(workspace.path("crates/xtask/src/clients/latency.py"))
            .arg(weir)
            .arg(workspace.path("docs/performance.md"))
            .args([rounds, calls])
            .env("CARGO_TARGET_DIR", &workspace.target)
            .current_dir(&workspace.root),
    )
}

/// The interpreter of the clients' tools, and their environment.
fn tools(workspace: &Workspace) -> Result<(PathBuf, PathBuf)> {
    let python = setup::client_python(workspace)?
        .context("the clients' packages are missing: cargo xtask setup --for test")?;
    let tools = python.ancestors().nth(2).context("the interpreter is not in an environment")?;
    let tools = tools.to_owned();
    Ok((python, tools))
}
