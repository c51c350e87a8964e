//! Builds the standard library from Debian's package of the compiler's own sources.
//!
//! The package is taken from whichever release carries exactly our version, through a private apt
//! configuration: the machine's own sources and lists stay as they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use super::toolchain::{TARGET, Toolchain, list};
use crate::workspace::{Workspace, call, capture, files_below, has_extension, on_path};

pub fn install(workspace: &Workspace, toolchain: &Toolchain) -> Result<()> {
    let place = workplace(workspace)?;
    lay_sources(&place, toolchain)?;
    let built = build(workspace, &place)?;
    let into = toolchain.wasm_lib();
    fs::create_dir_all(&into).with_context(|| format!("create {}", into.display()))?;
    for file in built {
        let name = file.file_name().context("a library has a name")?;
        fs::copy(&file, into.join(name)).context("copy a library")?;
    }
    ensure!(toolchain.has_wasm_std(), "the build gave no libstd");
    // Output that was compiled against an older library cannot be linked with this one (E0463).
    let stale = workspace.target.join(TARGET);
    if stale.exists() {
        fs::remove_dir_all(&stale).context("remove output for the older library")?;
    }
    fs::remove_dir_all(&place).context("remove the working folder")
}

/// Installs the sources alone.
pub fn install_sources(workspace: &Workspace, toolchain: &Toolchain) -> Result<()> {
    let place = workplace(workspace)?;
    lay_sources(&place, toolchain)?;
    fs::remove_dir_all(&place).context("remove the working folder")
}

fn workplace(workspace: &Workspace) -> Result<PathBuf> {
    ensure!(on_path("apt-get").is_some() && on_path("dpkg").is_some(), "this machine has no apt");
    let place = workspace.cache.join("wasm-std");
    if place.exists() {
        fs::remove_dir_all(&place).context("clear the working folder")?;
    }
    fs::create_dir_all(&place).context("create the working folder")?;
    Ok(place)
}

fn lay_sources(place: &Path, toolchain: &Toolchain) -> Result<()> {
    let library = toolchain.library();
    if library.is_dir() {
        return Ok(());
    }
    copy_tree(&fetch(place, &toolchain.version)?, &library)
        .with_context(|| format!("lay the sources at {}", library.display()))
}

/// Downloads and unpacks the sources; returns their `library` folder.
fn fetch(place: &Path, version: &str) -> Result<PathBuf> {
    let mirror = mirror()?;
    for suite in SUITES {
        let apt = Apt::open(place, &mirror, suite)?;
        if call(apt.get().args(["update", "-q"])).is_err() {
            continue;
        }
        let offers = capture(apt.cache().args(["madison", "rust-src"]))?;
        let ours = offers
            .lines()
            .filter_map(|line| line.split('|').nth(1).map(str::trim))
            .find(|offer| offer.starts_with(&format!("{version}+")));
        let Some(ours) = ours else { continue };
        call(apt.get().args(["download", "-q", &format!("rust-src={ours}")]).current_dir(place))?;
        let package = list(place).into_iter().find(|file| has_extension(file, "deb"));
        let unpacked = place.join("unpacked");
        call(
            Command::new("dpkg")
                .arg("-x")
                .arg(package.context("apt-get downloaded nothing")?)
                .arg(&unpacked),
        )?;
        let library = unpacked.join(format!("usr/src/rustc-{version}/library"));
        ensure!(library.is_dir(), "the package has no library folder");
        return Ok(library);
    }
    bail!("no release offers rust-src {version}: {}", SUITES.join(", "))
}

/// Compiles the library as a by-product of an empty program; returns the `.rlib` files.
fn build(workspace: &Workspace, place: &Path) -> Result<Vec<PathBuf>> {
    let empty = place.join("empty");
    fs::create_dir_all(empty.join("src"))?;
    fs::write(empty.join("src/lib.rs"), "")?;
    fs::write(
        empty.join("Cargo.toml"),
        "[package]\nname = \"empty\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\n\
         [workspace]\n",
    )?;
    let target = place.join("target");
    let mut cargo = workspace.cargo();
    cargo
        .args(["build", "--release", "--quiet", "--target", TARGET])
        .arg("-Zbuild-std=std,panic_abort")
        .current_dir(&empty)
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTC_BOOTSTRAP", "1")
        // Without bitcode, link-time optimisation fails later.
        .env("RUSTFLAGS", "-Cembed-bitcode=yes");
    call(&mut cargo)?;
    let built = list(&target.join(TARGET).join("release").join("deps"));
    Ok(built.into_iter().filter(|file| has_extension(file, "rlib")).collect())
}

/// The address of the machine's own Debian mirror.
fn mirror() -> Result<String> {
    let listed = capture(Command::new("apt-get").args([
        "indextargets",
        "--format",
        "$(SITE) $(RELEASE) $(COMPONENT)",
        "Identifier: Packages",
    ]))?;
    let release = fs::read_to_string("/etc/os-release").context("read /etc/os-release")?;
    let codename = release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))
        .context("/etc/os-release names no codename")?;
    listed
        .lines()
        .find_map(|line| line.strip_suffix(&format!(" {codename} main")))
        .map(str::to_owned)
        .context("apt is not configured with a mirror of this release")
}

/// An apt configuration of our own for one suite.
struct Apt {
    options: Vec<String>,
}

impl Apt {
    fn open(place: &Path, mirror: &str, suite: &str) -> Result<Self> {
        let folder = place.join("apt");
        let (lists, caches) = (folder.join("lists"), folder.join("cache"));
        fs::create_dir_all(lists.join("partial"))?;
        fs::create_dir_all(caches.join("archives/partial"))?;
        let sources = folder.join("sources.list");
        let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
        fs::write(&sources, format!("deb [signed-by={keys}] {mirror} {suite} main\n"))?;
        let options = vec![
            format!("Dir::Etc::sourcelist={}", sources.display()),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            format!("Dir::State::lists={}", lists.display()),
            format!("Dir::Cache={}", caches.display()),
            // The folder may lie where apt's own download user cannot reach.
            "APT::Sandbox::User=".to_owned(),
            "Acquire::Languages=none".to_owned(),
        ];
        Ok(Self { options })
    }

    fn get(&self) -> Command {
        self.with_options("apt-get")
    }

    fn cache(&self) -> Command {
        self.with_options("apt-cache")
    }

    fn with_options(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for option in &self.options {
            command.args(["-o", option]);
        }
        command
    }
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for file in files_below(from)? {
        let target = to.join(file.strip_prefix(from)?);
        fs::create_dir_all(target.parent().context("a file has a folder")?)?;
        fs::copy(&file, &target)?;
    }
    Ok(())
}

/// Likeliest first.
const SUITES: [&str; 5] = ["trixie-backports", "bookworm-backports", "trixie", "forky", "sid"];
