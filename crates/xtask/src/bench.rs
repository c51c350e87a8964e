//! `cargo xtask bench`: release builds of what is measured, and the tool that measures it.
//!
//! The tool is `crates/weir-bench`; this only builds, and tells it where things are.

pub mod instructions;

use std::process::Command;

use anyhow::Result;

use crate::setup::{self, Purpose};
use crate::workshop::{Mode, Workshop, call, step};

/// Without a task named in `args`: the comparison.
pub fn run(workshop: &Workshop, args: &[String]) -> Result<()> {
    if args.first().is_some_and(|first| first == "instructions") {
        let write = args.iter().any(|it| it == "--write");
        return instructions::run(workshop, if write { Mode::Write } else { Mode::Check });
    }
    setup::run(workshop, Purpose::Bench)?;
    step("release builds", || build(workshop))?;
    let release = workshop.target.join("release");
    let mut tool = Command::new(release.join("weir-bench"));
    tool.current_dir(&workshop.root)
        .env("BENCH_WEIR", release.join("weir"))
        .env("BENCH_CONSTANT", release.join("examples").join("constant"))
        .env("BENCH_PAGE", workshop.path("docs/performance.md"));
    tool.env(
        "BENCH_PARTS",
        step("release build of the pure parts", || instructions::build(workshop))?,
    );
    if let Some(program) = setup::throttlecrab(workshop) {
        tool.env("BENCH_THROTTLECRAB", program);
    }
    if args.first().is_none_or(|first| first.starts_with("--") && first != "--help") {
        tool.arg("compare");
    }
    step("measure", || call(tool.args(args)))
}

fn build(workshop: &Workshop) -> Result<()> {
    let release = ["build", "--release", "--quiet", "--package"];
    // The server alone, so that no other crate's features change what is measured.
    call(workshop.cargo().args(release).args(["weir-server", "--bin", "weir"]))?;
    call(workshop.cargo().args(release).args(["weir-http", "--example", "constant"]))?;
    call(workshop.cargo().args(release).arg("weir-bench"))
}
