//! The files of the finished dashboard: names, page, compressed copies, sizes.
//!
//! The page is frontend/index.html with four marks replaced by addresses: `{{style}}`,
//! `{{boot}}`, `{{script}}` and `{{program}}`. The boot script is a file because the content
//! security policy permits no script inside the page.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::workshop::{call, files_below, fingerprint, has_extension};

/// Writes everything but the compressed copies into `dist`.
pub fn assemble(frontend: &Path, bound: &Path, dist: &Path) -> Result<()> {
    if dist.exists() {
        fs::remove_dir_all(dist).context("clear the folder for the dashboard")?;
    }
    let assets = dist.join("assets");
    fs::create_dir_all(&assets).context("create the folder for the dashboard")?;
    for file in files_below(&frontend.join("public"))? {
        copy_into(&file, &frontend.join("public"), dist)?;
    }
    for file in files_below(&bound.join("snippets"))? {
        copy_into(&file, bound, &assets)?;
    }
    let store = |name: &str, extension: &str, bytes: &[u8]| -> Result<String> {
        let name = format!("{name}-{}.{extension}", fingerprint([bytes]));
        fs::write(assets.join(&name), bytes).with_context(|| format!("write {name}"))?;
        Ok(name)
    };
    let style = store("weir", "css", &style(frontend)?)?;
    let script = store("weir", "js", &fs::read(bound.join("weir.js"))?)?;
    let program = store("weir", "wasm", &fs::read(bound.join("weir_bg.wasm"))?)?;
    let boot = format!(
        "import start from './{script}';\n\
         start({{ module_or_path: new URL('./{program}', import.meta.url) }});\n"
    );
    let boot = store("boot", "js", boot.as_bytes())?;
    let page = frontend.join("index.html");
    let mut page = fs::read_to_string(&page).context("read frontend/index.html")?;
    for (mark, name) in [
        ("{{style}}", &style),
        ("{{boot}}", &boot),
        ("{{script}}", &script),
        ("{{program}}", &program),
    ] {
        ensure!(page.contains(mark), "frontend/index.html has no {mark}");
        page = page.replace(mark, &format!("/assets/{name}"));
    }
    fs::write(dist.join("index.html"), page).context("write the page")
}

/// A `.br` beside each file that gains by it. Node brings the compressor.
pub fn compress(dist: &Path) -> Result<()> {
    let files = files_below(dist)?;
    call(Command::new("node").arg("--eval").arg(include_str!("compress.js")).args(
        files.iter().filter(|file| {
            ["css", "html", "js", "svg", "wasm"]
                .iter()
                .any(|extension| has_extension(file, extension))
        }),
    ))
    .context("is Node.js installed? Version 20 or newer is needed")
}

/// Prints what a browser has to load, and fails when it is too much.
pub fn report(dist: &Path) -> Result<()> {
    let mut total_bytes = 0;
    for file in files_below(dist)? {
        let compressed = file.with_extension(format!(
            "{}.br",
            file.extension().unwrap_or_default().to_string_lossy()
        ));
        let (Ok(raw), Ok(small)) = (fs::metadata(&file), fs::metadata(&compressed)) else {
            continue;
        };
        total_bytes += small.len();
        println!(
            "   {:>8} bytes, {:>7} compressed: {}",
            raw.len(),
            small.len(),
            file.strip_prefix(dist)?.display()
        );
    }
    println!("   {total_bytes} bytes to load; the budget is {BUDGET_BYTES}");
    ensure!(
        total_bytes <= CEILING_BYTES,
        "the dashboard is too large: {total_bytes} bytes compressed, at most {CEILING_BYTES}"
    );
    Ok(())
}

/// All style sheets, in the order of their names.
fn style(frontend: &Path) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    for file in files_below(&frontend.join("style"))? {
        if has_extension(&file, "css") {
            text.extend(fs::read(&file).with_context(|| format!("read {}", file.display()))?);
            text.push(b'\n');
        }
    }
    Ok(text)
}

fn copy_into(file: &Path, base: &Path, folder: &Path) -> Result<()> {
    let target = folder.join(file.strip_prefix(base)?);
    fs::create_dir_all(target.parent().context("a file has a folder")?)?;
    fs::copy(file, &target).with_context(|| format!("copy {}", file.display()))?;
    Ok(())
}

const BUDGET_BYTES: u64 = 450 * 1024;
/// The budget is not kept: everything is one program, and a first visit loads all pages. Until pages are loaded apart, it
/// must at least not grow beyond this.
const CEILING_BYTES: u64 = 570 * 1024;
