//! `cargo xtask protos`: generates the code of Envoy's rate limit service from crates/weir-rls/proto.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::workspace::{Mode, Workspace, call};

const GENERATED: &str = "crates/weir-rls/src/generated.rs";
const HEAD: &str = "//! Generated from proto/rls.proto by `cargo xtask protos`.\n";

pub fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    let folder = workspace.target.join("protos");
    fs::create_dir_all(&folder).context("create the working folder")?;
    let protos = workspace.path("crates/weir-rls/proto");
    let files = protox::compile(["rls.proto"], [protos]).context("read rls.proto")?;
    tonic_prost_build::configure()
        .build_client(false)
        .out_dir(&folder)
        .compile_fds(files)
        .context("generate the code")?;
    let fresh = folder.join("envoy.service.ratelimit.v3.rs");
    let code = fs::read_to_string(&fresh).context("read the generated code")?;
    fs::write(&fresh, format!("{HEAD}{code}")).context("write the generated code")?;
    let mut format = Command::new("rustfmt");
    call(format.args(["--edition", "2024", "--config-path"]).arg(&workspace.root).arg(&fresh))?;
    let code = fs::read(&fresh).context("read the formatted code")?;
    let committed = workspace.path(GENERATED);
    if fs::read(&committed).is_ok_and(|found| found == code) {
        return Ok(());
    }
    if mode == Mode::Check {
        bail!("{GENERATED} is not what rls.proto says; run: cargo xtask protos");
    }
    fs::write(&committed, code).with_context(|| format!("write {GENERATED}"))?;
    println!("   {GENERATED} changed");
    Ok(())
}
