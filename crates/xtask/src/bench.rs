//! `cargo xtask bench`: release builds of what is measured, and the tool that measures it.
//!
//! The tool is `crates/weir-bench`; this only builds, and tells it where things are.

pub mod instructions;

use std::process::Command;

use anyhow::Result;

use crate::clients;
use crate::setup::{self, Purpose};
use crate::workspace::{Mode, Workspace, call, step};

/// Without a task named in `args`: the comparison.
pub fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    if args.first().is_some_and(|first| first == "instructions") {
        let write = args.iter().any(|arg| arg == "--write");
        return instructions::run(workspace, if write { Mode::Write } else { Mode::Check });
    }
    if args.first().is_some_and(|first| first == "clients") {
        let server = ["build", "--release", "--quiet", "--package", "weir-server", "--bin", "weir"];
        step("release build", || call(workspace.cargo().args(server)))?;
        let weir = workspace.target.join("release").join("weir");
        return step("measure", || clients::bench(workspace, &weir, &args[1..]));
    }
    setup::install_programs(Purpose::Bench)?;
    step("release builds", || build(workspace))?;
    let release = workspace.target.join("release");
    let mut tool = Command::new(release.join("weir-bench"));
    tool.current_dir(&workspace.root)
        .env("BENCH_WEIR", release.join("weir"))
        .env("BENCH_PAGE", workspace.path("docs/performance.md"));
    let unnamed = args.first().is_none_or(|first| first.starts_with("--") && first != "--help");
    if unnamed {
        tool.arg("compare");
    }
    if unnamed || args.first().is_some_and(|first| first == "compare") {
        compared(workspace, &mut tool)?;
    }
    step("measure", || call(tool.args(args)))
}

fn build(workspace: &Workspace) -> Result<()> {
    // The server alone, so that no other crate's features change what is measured.
    call(workspace.cargo().args(RELEASE).args(["weir-server", "--bin", "weir"]))?;
    call(workspace.cargo().args(RELEASE).arg("weir-bench"))
}

/// Installs and builds what only the comparison measures, and names it to the tool.
fn compared(workspace: &Workspace, tool: &mut Command) -> Result<()> {
    setup::run(workspace, Purpose::Bench)?;
    if let Some(program) = setup::throttlecrab(workspace) {
        tool.env("BENCH_THROTTLECRAB", program);
    }
    step("release build of the ceiling", || {
        call(workspace.cargo().args(RELEASE).args(["weir-http", "--example", "constant"]))
    })?;
    let examples = workspace.target.join("release").join("examples");
    tool.env("BENCH_CONSTANT", examples.join("constant"));
    let parts = step("release build of the pure parts", || instructions::build(workspace))?;
    tool.env("BENCH_PARTS", parts);
    Ok(())
}

const RELEASE: [&str; 4] = ["build", "--release", "--quiet", "--package"];
