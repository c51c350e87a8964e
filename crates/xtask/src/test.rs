//! `cargo xtask test`: every check and every test, in the order in which they are cheapest to
//! fail. The last thing printed is cargo's own summary.

use anyhow::Result;

use crate::bench::instructions;
use crate::dashboard::{self, wasm_cargo};
use crate::setup::{self, Purpose};
use crate::workshop::{Mode, Workshop, call, step};
use crate::{dependencies, layers, openapi, sqlx, tidy};

pub fn run(workshop: &Workshop) -> Result<()> {
    setup::run(workshop, Purpose::Test)?;
    step("format", || call(workshop.cargo().args(["fmt", "--all", "--check"])))?;
    step("layers", || layers::run(workshop))?;
    step("tidy", || tidy::run(workshop))?;
    step("dependencies", || dependencies::run(workshop))?;
    dashboard::run(workshop)?;
    step("lints", || {
        call(workshop.cargo().args([
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
            call(wasm_cargo(workshop, "check")?.args(["--quiet", "--package", package]))?;
        }
        Ok(())
    })?;
    step("SQL descriptions", || sqlx::run(workshop, Mode::Check))?;
    step("instructions of the pure parts", || instructions::run(workshop, Mode::Check))?;
    let weir = step("server", || workshop.build_server())?;
    step("API documents", || openapi::run(workshop, Mode::Check))?;
    println!("== tests");
    call(workshop.cargo().args(["test", "--workspace", "--no-fail-fast"]).env("WEIR_BIN", weir))
}
