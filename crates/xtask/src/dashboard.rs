//! `cargo xtask dashboard`: frontend/ into frontend/dist, which the server embeds.
//!
//! Compile to WebAssembly, split groups of pages off, bind, optimise (when the tool is installed),
//! name every file by its content so that browsers may keep it for ever, compress, and write the
//! page that names them. Skipped when no input changed. A draft is compiled fast instead of small
//! and is not split, for work on the dashboard.

mod bundles;
mod files;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::build_paths;
use crate::compress::compress;
use crate::setup::{WasmStd, browser_tool, has_std_sources, wasm_std};
use crate::workspace::{
    Workspace, call, emptied, files_below, fingerprint, has_extension, replace_folder, step,
};
use files::{assemble, report};

pub fn run(workspace: &Workspace) -> Result<()> {
    // Two builds at once would write into the same folders.
    let _lock = workspace.lock("dashboard")?;
    let stamp = Stamp::of(workspace)?;
    if stamp.made(workspace) == Some(Made::Whole) {
        return Ok(());
    }
    build(workspace)?;
    stamp.write(Made::Whole)
}

/// Cargo for the browser's target, with whichever toolchain can.
pub fn wasm_cargo(workspace: &Workspace, task: &str) -> Result<Command> {
    let mut command = match wasm_std()? {
        None => bail!("the browser's target is not installed; run: cargo xtask setup"),
        Some(WasmStd::Installed) => {
            let mut command = workspace.cargo();
            command.arg(task);
            command
        }
        Some(WasmStd::DebianWeb { linker }) => {
            let mut command = Command::new("/usr/bin/cargo");
            command
                .current_dir(&workspace.root)
                .arg(task)
                .arg("-Zbuild-std=std,panic_abort")
                .env("RUSTC", "/usr/bin/rustc")
                .env("RUSTC_BOOTSTRAP", "1")
                .env("RUSTFLAGS", "-Cembed-bitcode=yes")
                .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)
                .env("CARGO_TARGET_DIR", workspace.cache.join("target-web"));
            command
        }
    };
    command.args(["--target", "wasm32-unknown-unknown"]);
    Ok(command)
}

/// A build that is fast to make, large and not compressed, unless there is one of these inputs; the next whole build replaces it.
pub fn draft(workspace: &Workspace) -> Result<()> {
    let _lock = workspace.lock("dashboard")?;
    let stamp = Stamp::of(workspace)?;
    if stamp.made(workspace).is_some() {
        return Ok(());
    }
    let compiled =
        step("compile the dashboard", || compile(workspace, "dashboard-draft", false, &[]))?;
    let bound = bind(workspace, &weir_bind(workspace, &[])?, &compiled)?;
    put_in_place(workspace, &bound, false)?;
    stamp.write(Made::Draft)
}

fn build(workspace: &Workspace) -> Result<()> {
    let small_std = has_std_sources()?;
    let compiled = step("compile the dashboard", || {
        // The splitter follows the relocations from each page to what it needs.
        let how = ["--features", "apart", "--", "-Clink-arg=--emit-relocs"];
        compile(workspace, "dashboard", small_std, &how)
    })?;
    let parts = emptied(&workspace.target.join("dashboard-parts"))?;
    let binder = weir_bind(workspace, &["--features", "split"])?;
    step("split groups of pages off", || {
        call(Command::new(&binder).arg("split").args([&compiled, &parts]).arg(PROGRAM))
    })?;
    let bound = bind(workspace, &binder, &parts.join(format!("{PROGRAM}.wasm")))?;
    take_parts(&parts, &bound)?;
    let optimiser = browser_tool(workspace, "wasm-opt");
    match &optimiser {
        Some(tool) => step("optimise it for size", || optimise(tool, &bound))?,
        None => println!("   not optimised: cargo xtask setup --for test brings wasm-opt"),
    }
    put_in_place(workspace, &bound, true)?;
    // Without one of them the dashboard works, but is larger.
    report(&workspace.path(DIST), small_std && optimiser.is_some())
}

/// Makes the JavaScript beside the program; where both are.
fn bind(workspace: &Workspace, binder: &Path, program: &Path) -> Result<PathBuf> {
    let bound = emptied(&workspace.target.join("dashboard-bound"))?;
    step("bind it to the browser", || {
        call(Command::new(binder).arg("bind").arg(program).arg(&bound).arg(PROGRAM))
    })?;
    Ok(bound)
}

/// The program that binds and, with the feature `split`, splits. It is built first if it changed, in a folder of its own, so that
/// the server is built at the same time.
fn weir_bind(workspace: &Workspace, how: &[&str]) -> Result<PathBuf> {
    let folder = workspace.cache.join("target-bind");
    let mut build = workspace.cargo();
    build.args(["build", "--package", "weir-bind"]).args(how).arg("--target-dir").arg(&folder);
    // It runs for seconds.
    build.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_PROFILE_DEV_DEBUG", "false");
    call(&mut build)?;
    Ok(folder.join("debug").join("weir-bind"))
}

/// Copies the other output of the splitter: the parts, and the script that fetches them.
fn take_parts(parts: &Path, bound: &Path) -> Result<()> {
    for file in files_below(parts)? {
        let name = file.file_name().context("a file has a name")?;
        if name != format!("{PROGRAM}.wasm").as_str() {
            fs::copy(&file, bound.join(name))
                .with_context(|| format!("copy {}", file.display()))?;
        }
    }
    Ok(())
}

fn put_in_place(workspace: &Workspace, bound: &Path, small: bool) -> Result<()> {
    step("assemble", || {
        replace_folder(&workspace.path(DIST), |staged| {
            assemble(&workspace.path("frontend"), bound, staged)?;
            if small { compress(staged) } else { Ok(()) }
        })
    })
}

fn compile(workspace: &Workspace, profile: &str, small_std: bool, how: &[&str]) -> Result<PathBuf> {
    let mut command = wasm_cargo(workspace, "rustc")?;
    let mut flags = Vec::new();
    if small_std {
        command.args(SMALL_STD).env("RUSTC_BOOTSTRAP", "1");
        flags.extend(NO_PANIC_TEXTS.map(str::to_owned));
    }
    // Paths in the workspace are relative already, and with its folder among the flags each clone would compile all again.
    let paths = build_paths::all(workspace)?.into_iter().filter(|path| path.path != workspace.root);
    flags.extend(paths.map(|path| path.flag("--remap-path-prefix")));
    // Flags of the configuration stay in force, and so do those that the command already has.
    let own = command.get_envs().find(|(name, _)| *name == "RUSTFLAGS");
    match own.and_then(|(_, value)| value?.to_str()).map(str::to_owned) {
        Some(own) => command.env("RUSTFLAGS", format!("{own} {}", flags.join(" "))),
        None => command
            .arg("--config")
            .arg(format!("target.wasm32-unknown-unknown.rustflags={flags:?}")),
    };
    command.args(["--package", "weir-frontend", "--profile", profile]).args(how);
    let target = command
        .get_envs()
        .find(|(name, _)| *name == "CARGO_TARGET_DIR")
        .and_then(|(_, value)| value.map(PathBuf::from))
        .context("cargo has a target directory")?;
    call(&mut command)?;
    let compiled = target.join("wasm32-unknown-unknown").join(profile).join("weir-frontend.wasm");
    ensure!(compiled.is_file(), "cargo made no {}", compiled.display());
    Ok(compiled)
}

/// Each file by itself: what the parts call each other stays as it is named.
fn optimise(tool: &Path, bound: &Path) -> Result<()> {
    for from in files_below(bound)?.iter().filter(|file| has_extension(file, "wasm")) {
        let to = from.with_extension("small");
        let mut command = Command::new(tool);
        command.arg("-Oz").args(BROWSER_FEATURES).arg("-o").args([&to, from]);
        // It warns of names that it does not know, before it removes them.
        let output = command.output().context("start wasm-opt")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "wasm-opt ended with {}: {said}", output.status);
        fs::rename(to, from).context("replace the program by the small one")?;
    }
    Ok(())
}

/// The inputs of a build, to compare with those of the last one.
struct Stamp {
    file: PathBuf,
    inputs: String,
}

/// The result of the last build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Whole,
    Draft,
}

impl Stamp {
    fn of(workspace: &Workspace) -> Result<Self> {
        let mut parts = Vec::new();
        for input in INPUTS {
            let path = workspace.path(input);
            let files = if path.is_dir() { files_below(&path)? } else { vec![path] };
            for file in files.iter().filter(|file| file.is_file()) {
                parts.push(file.as_os_str().as_encoded_bytes().to_vec());
                parts.push(fs::read(file).with_context(|| format!("read {}", file.display()))?);
            }
        }
        let small = browser_tool(workspace, "wasm-opt").is_some();
        parts.push(vec![u8::from(small), u8::from(has_std_sources()?)]);
        let root = fingerprint([workspace.root.as_os_str().as_encoded_bytes()]);
        Ok(Self {
            file: workspace.cache.join("stamps").join(root),
            inputs: fingerprint(parts.iter().map(Vec::as_slice)),
        })
    }

    /// The result of the last build of these inputs, if it is still there.
    fn made(&self, workspace: &Workspace) -> Option<Made> {
        let text = fs::read_to_string(&self.file).ok()?;
        let made = [Made::Whole, Made::Draft].into_iter().find(|&made| text == self.text(made))?;
        workspace.path(DIST).join("index.html").is_file().then_some(made)
    }

    fn text(&self, made: Made) -> String {
        format!("{made:?} {}", self.inputs)
    }

    fn write(&self, made: Made) -> Result<()> {
        fs::create_dir_all(self.file.parent().context("the stamp has a folder")?)?;
        fs::write(&self.file, self.text(made)).context("write the stamp")
    }
}

/// Compiles the standard library along with the program, and for size. The options are not stable yet, so each release of
/// the compiler may need others.
const SMALL_STD: [&str; 2] =
    ["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"];

/// A panic traps at once. A browser shows its text nowhere.
const NO_PANIC_TEXTS: [&str; 2] = ["-Zunstable-options", "-Cpanic=immediate-abort"];

/// The features that the compiler uses by default, and that every browser of the last years supports. All that the
/// tool knows would be more than Chromium does.
const BROWSER_FEATURES: [&str; 8] = [
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-call-indirect-overlong",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

const PROGRAM: &str = "weir";

const DIST: &str = "frontend/dist";

/// Everything the result depends on; what does not exist counts as empty.
const INPUTS: [&str; 14] = [
    "Cargo.lock",
    "Cargo.toml",
    "rust-toolchain.toml",
    "crates/weir-domain",
    "crates/weir-wire",
    "crates/xtask/src",
    "frontend/Cargo.toml",
    "frontend/boot.js",
    "frontend/index.html",
    "frontend/public",
    "frontend/src",
    "frontend/style",
    "frontend/theme.js",
    "frontend/vendor",
];
