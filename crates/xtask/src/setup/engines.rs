//! Redis 8 and Valkey 9 for tests, at exact versions and with their hashes, from the registry of Python packages, because few
//! systems have packages of both.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use weir_local::Engine;

use super::python::{locked_pip, python_tool};
use crate::workspace::{Workspace, call, files_below, fingerprint, step};

const PACKAGES: &str = include_str!("engines.txt");

/// The engines that are installed. The installed one is a package of the system.
const ENGINES: [Engine; 2] = [Engine::Redis8, Engine::Valkey9];

/// Needs the Python packages of the tests.
pub fn install(workspace: &Workspace) -> Result<()> {
    let home = workspace.cache.join("engines");
    let stamp = home.join("installed");
    let wanted = fingerprint([PACKAGES.as_bytes()]);
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    step("install the engines of the tests", || {
        let python =
            python_tool(workspace, "python")?.context("the Python packages are missing")?;
        let (list, unpacked) = (home.join("packages.txt"), home.join("unpacked"));
        fs::create_dir_all(&home).context("create the folder of the engines")?;
        fs::write(&list, PACKAGES).context("write the list of packages")?;
        let mut pip = locked_pip(&python, &list);
        call(pip.arg("--target").arg(&unpacked).arg("--upgrade"))?;
        for engine in ENGINES {
            put(workspace, engine, &unpacked)?;
        }
        fs::remove_dir_all(&unpacked).context("remove the unpacked packages")?;
        fs::write(&stamp, &wanted).context("write the stamp")
    })
}

/// Moves the program of an engine to its place. A test that runs the former program keeps it.
fn put(workspace: &Workspace, engine: Engine, unpacked: &Path) -> Result<()> {
    let program = engine.cached(&workspace.cache).context("the engine of the system")?;
    let found =
        files_below(unpacked)?.into_iter().find(|file| file.file_name() == program.file_name());
    let found = found.with_context(|| format!("no package has {}", program.display()))?;
    if let Some(folder) = program.parent() {
        fs::create_dir_all(folder).context("create the folder of the engine")?;
    }
    fs::set_permissions(&found, fs::Permissions::from_mode(0o755)).context("make it executable")?;
    fs::rename(&found, &program).context("move the engine to its place")?;
    call(Command::new(&program).arg("--version"))
}
