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
    setup::run(workspace, Purpose::Bench)?;
    step("release builds", || build(workspace))?;
    let release = workspace.target.join("release");
    let mut tool = Command::new(release.join("weir-bench"));
    tool.current_dir(&workspace.root)
        .env("BENCH_WEIR", release.join("weir"))
        .env("BENCH_CONSTANT", release.join("examples").join("constant"))
        .env("BENCH_PAGE", workspace.path("docs/performance.md"));
    tool.env(
        "BENCH_PARTS",
        step("release build of the pure parts", || instructions::build(workspace))?,
    );
    if let Some(program) = setup::throttlecrab(workspace) {
        tool.env("BENCH_THROTTLECRAB", program);
    }
    if args.first().is_none_or(|first| first.starts_with("--") && first != "--help") {
        tool.arg("compare");
    }
    step("measure", || call(tool.args(args)))
}

fn build(workspace: &Workspace) -> Result<()> {
    let release = ["build", "--release", "--quiet", "--package"];
    // The server alone, so that no other crate's features change what is measured.
    call(workspace.cargo().args(release).args(["weir-server", "--bin", "weir"]))?;
    call(workspace.cargo().args(release).args(["weir-http", "--example", "constant"]))?;
    call(workspace.cargo().args(release).arg("weir-bench"))
}
