//! `cargo xtask test`: every check and every test, the cheapest first. The last line printed is cargo's own summary.
//!
//! Three steps that take minutes are left out, by name, while nothing that they stand on has changed since they passed in this
//! folder. With `CI` in the environment, and in a fresh clone, all run.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs, thread};

use anyhow::{Context as _, Result, anyhow};

use crate::bench::instructions;
use crate::dashboard::{self, wasm_cargo};
use crate::setup::{self, Purpose};
use crate::workspace::{EMBED, Mode, Workspace, call, capture, fingerprint, step};
use crate::{
    chart, checkers, clients, dependencies, guide, image, layers, openapi, pages, protos, sqlx,
    tidy,
};

/// The variable that sets the number of tests that run at the same time.
const THREADS: &str = "RUST_TEST_THREADS";

pub fn run(workspace: &Workspace) -> Result<()> {
    setup::run(workspace, Purpose::Test)?;
    step("format", || call(workspace.cargo().args(["fmt", "--all", "--check"])))?;
    step("layers", || layers::run(workspace))?;
    step("tidy", || tidy::run(workspace))?;
    guide::run(workspace)?;
    step("dependencies", || dependencies::run(workspace))?;
    step("unused dependencies", || checkers::unused_dependencies(workspace))?;
    step("Lua", || checkers::lua(workspace))?;
    unless_passed(workspace, "chart", &CHART, || chart::run(workspace))?;
    // At the same time, because most of the dashboard's build uses one processor only.
    thread::scope(|scope| {
        let pages = scope.spawn(|| pages_and_purity(workspace));
        code(workspace)?;
        pages.join().map_err(|_| anyhow!("the build of the dashboard panicked"))?
    })?;
    let weir = step("server with the pages", || workspace.build_all())?;
    step("pages in the server", || pages::check(&weir))?;
    step("API documents", || openapi::run(workspace, &weir, Mode::Check))?;
    unless_passed(workspace, "image", &IMAGE, || image::run(workspace, &weir))?;
    unless_passed(workspace, "clients", &CLIENTS, || clients::run(workspace, &weir, &[]))?;
    println!("== tests");
    // The same crates as above: with others, cargo would choose other features and compile some crates again. `weir-bind` has no
    // tests; each build of the dashboard runs it.
    let tests = ["test", "--workspace", "--exclude", "weir-bind", "--no-fail-fast"];
    let mut cargo = workspace.cargo();
    cargo.args(tests).args(EMBED).env("WEIR_BIN", weir);
    if env::var_os(THREADS).is_none() {
        // Most tests mostly wait.
        cargo.env(THREADS, (thread::available_parallelism()?.get() + 1).to_string());
    }
    call(&mut cargo)
}

/// The dashboard, and that the crates which it shares with the server need nothing that a browser lacks.
fn pages_and_purity(workspace: &Workspace) -> Result<()> {
    dashboard::run(workspace)?;
    step("purity: the domain and the wire compile for the browser", || {
        for package in ["weir-domain", "weir-wire"] {
            call(wasm_cargo(workspace, "check")?.args(["--quiet", "--package", package]))?;
        }
        Ok(())
    })
}

/// The checks that need neither the dashboard nor a built server, and the compilation of all tests.
fn code(workspace: &Workspace) -> Result<()> {
    let lints = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-Dwarnings"];
    step("lints", || call(workspace.cargo().args(lints)))?;
    step("SQL descriptions", || sqlx::run(workspace, Mode::Check))?;
    step("instructions of the pure parts", || instructions::run(workspace, Mode::Check))?;
    step("generated code", || protos::run(workspace, Mode::Check))?;
    step("tests", || workspace.build_without_pages())
}

/// The files on which the steps depend. The server contains the dashboard, the guide and the migrations.
const CHART: [&str; 3] = ["deploy/chart", "crates/xtask", "crates/weir-server"];
const IMAGE: [&str; 8] = [
    "Dockerfile",
    "docker-compose.yml",
    "deploy",
    "crates",
    "frontend",
    "docs",
    "migrations",
    "Cargo.lock",
];
/// Programs of the pages are run by the clients.
const CLIENTS: [&str; 10] = [
    "clients",
    "examples",
    "crates",
    "migrations",
    "openapi",
    "Cargo.lock",
    "README.md",
    "docs/api.md",
    "docs/clients",
    "docs/move",
];

/// Runs a step unless it passed here with the same files.
fn unless_passed(
    workspace: &Workspace,
    what: &str,
    inputs: &[&str],
    action: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let passed = Passed::of(workspace, what, inputs)?;
    if env::var_os("CI").is_none() && passed.is_recorded() {
        println!("== {what}: left out, because it passed with these files");
        return Ok(());
    }
    step(what, action)?;
    passed.record()
}

/// The record that a step passed.
struct Passed {
    file: PathBuf,
    inputs: String,
}

impl Passed {
    fn of(workspace: &Workspace, what: &str, inputs: &[&str]) -> Result<Self> {
        let mut list = Command::new("git");
        list.current_dir(&workspace.root);
        list.args(["ls-files", "--cached", "--others", "--exclude-standard", "--"]).args(inputs);
        let mut parts = Vec::new();
        for name in capture(&mut list)?.lines() {
            let path = workspace.path(name);
            // A deleted file is listed until the commit.
            if path.is_file() {
                parts.push(name.as_bytes().to_vec());
                parts.push(fs::read(&path).with_context(|| format!("read {name}"))?);
            }
        }
        let root = fingerprint([workspace.root.as_os_str().as_encoded_bytes()]);
        let file = workspace.cache.join("passed").join(root).join(what);
        Ok(Self { file, inputs: fingerprint(parts.iter().map(Vec::as_slice)) })
    }

    fn is_recorded(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|text| text == self.inputs)
    }

    fn record(&self) -> Result<()> {
        fs::create_dir_all(self.file.parent().context("the record has a folder")?)?;
        fs::write(&self.file, &self.inputs).context("write the record")
    }
}
