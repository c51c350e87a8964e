//! `cargo xtask dashboard`: frontend/ into frontend/dist, which the server embeds.
//!
//! Compile to WebAssembly, split groups of pages off, bind, optimise (when the tool is installed),
//! name every file by its content so that browsers may keep it for ever, compress, and write the
//! page that names them. Skipped when no input changed. A draft is compiled fast instead of small
//! and is not split, for whoever works on it.

mod files;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::setup::{WasmStd, bindgen, browser_tool, splitter, wasm_std};
use crate::workshop::{Workshop, call, files_below, fingerprint, has_extension, step};
use files::{assemble, compress, report};

pub fn run(workshop: &Workshop) -> Result<()> {
    // Two builds at once would write into the same folders.
    let _lock = workshop.lock("dashboard")?;
    let stamp = Stamp::of(workshop)?;
    if stamp.is_current() && workshop.path(DIST).join("index.html").is_file() {
        return Ok(());
    }
    build(workshop)?;
    stamp.write()
}

/// Cargo for the browser's target, with whichever toolchain can.
pub fn wasm_cargo(workshop: &Workshop, task: &str) -> Result<Command> {
    let mut command = match wasm_std()? {
        None => bail!("the browser's target is not installed; run: cargo xtask setup"),
        Some(WasmStd::Installed) => {
            let mut command = workshop.cargo();
            command.arg(task);
            command
        }
        Some(WasmStd::DebianWeb { linker }) => {
            let mut command = Command::new("/usr/bin/cargo");
            command
                .current_dir(&workshop.root)
                .arg(task)
                .arg("-Zbuild-std=std,panic_abort")
                .env("RUSTC", "/usr/bin/rustc")
                .env("RUSTC_BOOTSTRAP", "1")
                .env("RUSTFLAGS", "-Cembed-bitcode=yes")
                .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)
                .env("CARGO_TARGET_DIR", workshop.cache.join("target-web"));
            command
        }
    };
    command.args(["--target", "wasm32-unknown-unknown"]);
    Ok(command)
}

/// A build in seconds, large and not compressed; the next whole build replaces it.
pub fn draft(workshop: &Workshop) -> Result<()> {
    let _lock = workshop.lock("dashboard")?;
    Stamp::of(workshop)?.forget();
    let compiled = step("compile the dashboard", || compile(workshop, "dashboard-draft", &[]))?;
    let bound = bind(workshop, &compiled)?;
    put_in_place(workshop, &bound, false)
}

fn build(workshop: &Workshop) -> Result<()> {
    let splitter = splitter(workshop).context("wasm-split-cli is missing: cargo xtask setup")?;
    let compiled = step("compile the dashboard", || {
        // The splitter follows the relocations from each page to what it needs.
        let how = ["--features", "apart", "--", "-Clink-arg=--emit-relocs"];
        compile(workshop, "dashboard", &how)
    })?;
    let parts = emptied(&workshop.target.join("dashboard-parts"))?;
    step("split groups of pages off", || {
        let mut command = Command::new(splitter);
        call(command.arg(&compiled).arg(&parts).args(["--out-name", PROGRAM]))
    })?;
    let bound = bind(workshop, &parts.join(format!("{PROGRAM}.wasm")))?;
    take_parts(&parts, &bound)?;
    match browser_tool(workshop, "wasm-opt") {
        Some(tool) => step("optimise it for size", || optimise(&tool, &bound))?,
        None => println!("   not optimised: cargo xtask setup --for test brings wasm-opt"),
    }
    put_in_place(workshop, &bound, true)?;
    report(&workshop.path(DIST))
}

/// Makes the JavaScript beside the program; where both are.
fn bind(workshop: &Workshop, program: &Path) -> Result<PathBuf> {
    let bindgen = bindgen(workshop)?.context("wasm-bindgen is missing: cargo xtask setup")?;
    let bound = emptied(&workshop.target.join("dashboard-bound"))?;
    step("bind it to the browser", || {
        call(
            Command::new(bindgen)
                .args(["--target", "web", "--no-typescript", "--out-name", PROGRAM])
                // The parts need the program's memory, table and stack; nobody needs names.
                .args(["--keep-lld-exports", "--remove-name-section"])
                .arg("--out-dir")
                .arg(&bound)
                .arg(program),
        )
    })?;
    Ok(bound)
}

/// What the splitter made besides the program: the parts, and the script that fetches them.
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

fn emptied(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).context("clear the working folder")?;
    }
    fs::create_dir_all(folder).context("create the working folder")?;
    Ok(folder.to_owned())
}

fn put_in_place(workshop: &Workshop, bound: &Path, small: bool) -> Result<()> {
    let staged = workshop.path("frontend/dist.new");
    step("assemble", || {
        assemble(&workshop.path("frontend"), bound, &staged)?;
        if small { compress(&staged) } else { Ok(()) }
    })?;
    let dist = workshop.path(DIST);
    if dist.exists() {
        fs::remove_dir_all(&dist).context("remove the former dashboard")?;
    }
    fs::rename(&staged, &dist).context("put the dashboard in its place")
}

fn compile(workshop: &Workshop, profile: &str, how: &[&str]) -> Result<PathBuf> {
    let mut command = wasm_cargo(workshop, "rustc")?;
    command.args(["--package", "weir-frontend", "--profile", profile]).args(how);
    let target = command
        .get_envs()
        .find(|(name, _)| *name == "CARGO_TARGET_DIR")
        .and_then(|(_, value)| value.map(PathBuf::from))
        .context("cargo is told where to put its output")?;
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

/// What the last build was made from.
struct Stamp {
    file: PathBuf,
    inputs: String,
}

impl Stamp {
    fn of(workshop: &Workshop) -> Result<Self> {
        let mut parts = Vec::new();
        for input in INPUTS {
            let path = workshop.path(input);
            let files = if path.is_dir() { files_below(&path)? } else { vec![path] };
            for file in files.iter().filter(|file| file.is_file()) {
                parts.push(file.as_os_str().as_encoded_bytes().to_vec());
                parts.push(fs::read(file).with_context(|| format!("read {}", file.display()))?);
            }
        }
        let small = browser_tool(workshop, "wasm-opt").is_some();
        parts.push(vec![u8::from(small)]);
        let root = fingerprint([workshop.root.as_os_str().as_encoded_bytes()]);
        Ok(Self {
            file: workshop.cache.join("stamps").join(root),
            inputs: fingerprint(parts.iter().map(Vec::as_slice)),
        })
    }

    fn is_current(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|found| found == self.inputs)
    }

    fn forget(&self) {
        drop(fs::remove_file(&self.file));
    }

    fn write(&self) -> Result<()> {
        fs::create_dir_all(self.file.parent().context("the stamp has a folder")?)?;
        fs::write(&self.file, &self.inputs).context("write the stamp")
    }
}

/// What the compiler emits by default, and every browser of the last years can read. All that the
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
const INPUTS: [&str; 11] = [
    "Cargo.lock",
    "Cargo.toml",
    "rust-toolchain.toml",
    "crates/weir-domain",
    "crates/weir-wire",
    "crates/xtask/src",
    "frontend/Cargo.toml",
    "frontend/index.html",
    "frontend/public",
    "frontend/src",
    "frontend/style",
];
