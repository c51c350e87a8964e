//! `cargo xtask test`: every check and every test, the cheapest first. The last line printed is cargo's own summary.

use anyhow::Result;

use crate::bench::instructions;
use crate::dashboard::{self, wasm_cargo};
use crate::setup::{self, Purpose};
use crate::workspace::{EMBED, Mode, Workspace, call, step};
use crate::{
    chart, checkers, clients, dependencies, guide, image, layers, openapi, pages, protos, sqlx,
    tidy,
};

pub fn run(workspace: &Workspace) -> Result<()> {
    setup::run(workspace, Purpose::Test)?;
    step("format", || call(workspace.cargo().args(["fmt", "--all", "--check"])))?;
    step("layers", || layers::run(workspace))?;
    step("tidy", || tidy::run(workspace))?;
    guide::run(workspace)?;
    step("dependencies", || dependencies::run(workspace))?;
    step("unused dependencies", || checkers::unused_dependencies(workspace))?;
    step("Lua", || checkers::lua(workspace))?;
    step("chart", || chart::run(workspace))?;
    dashboard::run(workspace)?;
    step("lints", || {
        call(workspace.cargo().args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-Dwarnings",
        ]))
    })?;
    step("purity: the domain and the wire compile for the browser", || {
        for package in ["weir-domain", "weir-wire"] {
            call(wasm_cargo(workspace, "check")?.args(["--quiet", "--package", package]))?;
        }
        Ok(())
    })?;
    step("SQL descriptions", || sqlx::run(workspace, Mode::Check))?;
    step("instructions of the pure parts", || instructions::run(workspace, Mode::Check))?;
    step("generated code", || protos::run(workspace, Mode::Check))?;
    let weir = step("server and tests", || workspace.build_all())?;
    step("pages in the server", || pages::check(&weir))?;
    step("API documents", || openapi::run(workspace, &weir, Mode::Check))?;
    step("image", || image::run(workspace, &weir))?;
    step("clients", || clients::run(workspace, &weir, &[]))?;
    println!("== tests");
    let tests = ["test", "--workspace", "--no-fail-fast"];
    call(workspace.cargo().args(tests).args(EMBED).env("WEIR_BIN", weir))
}
