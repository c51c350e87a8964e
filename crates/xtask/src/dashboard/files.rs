//! The files of the finished dashboard: names, page, sizes.
//!
//! The page is frontend/index.html with its marks replaced: `{{style}}`, `{{font}}`, `{{theme}}`, `{{boot}}`, `{{script}}`
//! and `{{program}}` by addresses, `{{icons}}` by the icons. The scripts are files because the content security policy
//! permits no script inside the page.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use super::bundles::{CUTTER, bundles, is_shared};
use crate::workspace::{files_below, fingerprint, has_extension};

/// Writes everything but the compressed copies into `dist`.
pub fn assemble(frontend: &Path, bound: &Path, dist: &Path) -> Result<()> {
    let assets = Assets(dist.join("assets"));
    fs::create_dir_all(&assets.0).context("create the folder for the dashboard")?;
    for file in files_below(&frontend.join("public"))? {
        copy_into(&file, &frontend.join("public"), dist)?;
    }
    for file in files_below(&bound.join("snippets"))? {
        copy_into(&file, bound, &assets.0)?;
    }
    let font = assets.store("inter", "woff2", &vendored(frontend, "inter.woff2")?)?;
    let style =
        assets.store("weir", "css", style(frontend)?.replace("{{font}}", &font).as_bytes())?;
    let theme = fs::read(frontend.join("theme.js")).context("read frontend/theme.js")?;
    let theme = assets.store("theme", "js", &theme)?;
    let icons =
        String::from_utf8(vendored(frontend, "icons.svg")?).context("the icons are text")?;
    let script = scripts(bound, &assets)?;
    let program = assets.store("weir", "wasm", &fs::read(bound.join("weir_bg.wasm"))?)?;
    let boot = fs::read_to_string(frontend.join("boot.js")).context("read frontend/boot.js")?;
    let boot = boot.replace("{{script}}", &script).replace("{{program}}", &program);
    let boot = assets.store("boot", "js", boot.as_bytes())?;
    let page = frontend.join("index.html");
    let mut page = fs::read_to_string(&page).context("read frontend/index.html")?;
    let address = |name: &String| format!("/assets/{name}");
    for (mark, replacement) in [
        ("{{style}}", address(&style)),
        ("{{font}}", address(&font)),
        ("{{theme}}", address(&theme)),
        ("{{boot}}", address(&boot)),
        ("{{script}}", address(&script)),
        ("{{program}}", address(&program)),
        ("{{icons}}", icons),
    ] {
        ensure!(page.contains(mark), "frontend/index.html has no {mark}");
        page = page.replace(mark, &replacement);
    }
    fs::write(dist.join("index.html"), page).context("write the page")
}

/// Prints what a browser has to load. The parts of the program come when their pages are opened. A dashboard that was made
/// `small` must keep the bounds of the first page, of each part and of all together.
pub fn report(dist: &Path, small: bool) -> Result<()> {
    let (mut first_bytes, mut all_bytes, mut large) = (0, 0, Vec::new());
    for file in files_below(dist)? {
        let compressed = file.with_extension(format!(
            "{}.br",
            file.extension().unwrap_or_default().to_string_lossy()
        ));
        // A font is compressed already.
        let sent = if has_extension(&file, "woff2") { &file } else { &compressed };
        let (Ok(raw), Ok(small)) = (fs::metadata(&file), fs::metadata(sent)) else {
            continue;
        };
        // The dashboard does not fetch the customers' own view.
        let name = file.strip_prefix(dist)?;
        if name.starts_with("u") || name == Path::new("weir-usage.js") {
            continue;
        }
        all_bytes += small.len();
        let later = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PART));
        if !later {
            first_bytes += small.len();
        } else if small.len() > PART_BYTES_MAX {
            large.push(file.clone());
        }
        println!(
            "   {:>8} bytes, {:>7} compressed{}: {}",
            raw.len(),
            small.len(),
            if later { ", later" } else { "" },
            name.display()
        );
    }
    println!("   {first_bytes} bytes for the first page, at most {FIRST_BYTES_MAX}");
    println!("   {all_bytes} bytes for all pages, at most {ALL_BYTES_MAX}");
    if !small {
        return Ok(());
    }
    for (bytes, most, what) in
        [(first_bytes, FIRST_BYTES_MAX, "the first page"), (all_bytes, ALL_BYTES_MAX, "all pages")]
    {
        ensure!(
            bytes <= most,
            "the dashboard is too large: {bytes} bytes compressed for {what}, at most {most}"
        );
    }
    ensure!(
        large.is_empty(),
        "these parts have more than {PART_BYTES_MAX} bytes compressed: move a page to another group of pages/lazy.rs: {large:?}"
    );
    Ok(())
}

/// The folder of files that bear the mark of their content.
struct Assets(PathBuf);

impl Assets {
    fn store(&self, name: &str, extension: &str, bytes: &[u8]) -> Result<String> {
        self.store_as(format!("{name}-{}.{extension}", fingerprint([bytes])), bytes)
    }

    fn store_as(&self, name: String, bytes: &[u8]) -> Result<String> {
        fs::write(self.0.join(&name), bytes).with_context(|| format!("write {name}"))?;
        Ok(name)
    }
}

/// The script of the program, by its name. In a split program it and the one that fetches the parts name each other, so
/// both bear the mark of both.
fn scripts(bound: &Path, assets: &Assets) -> Result<String> {
    let script = fs::read_to_string(bound.join("weir.js")).context("read the script")?;
    if !bound.join(FETCHER).is_file() {
        return assets.store("weir", "js", script.as_bytes());
    }
    let mut fetcher =
        fs::read_to_string(bound.join(FETCHER)).context("read the fetching script")?;
    let mut shared = Vec::new();
    for file in files_below(bound)?.iter().filter(|file| has_extension(file, "wasm")) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let bytes = fs::read(file).with_context(|| format!("read {name}"))?;
        if is_shared(&name) {
            shared.push((name.into_owned(), bytes));
        } else if name != "weir_bg.wasm" {
            fetcher = renamed(&fetcher, &name, &assets.store(PART, "wasm", &bytes)?)?;
        }
    }
    for bundle in bundles(&fetcher, shared)? {
        let stored = assets.store(BUNDLE, "bin", &bundle.bytes)?;
        fetcher = bundle.cut_by(fetcher, &stored)?;
    }
    fetcher.push('\n');
    fetcher.push_str(CUTTER);
    let mark = fingerprint([script.as_bytes(), fetcher.as_bytes()]);
    let names = [format!("weir-{mark}.js"), format!("fetch-{mark}.js")];
    let script = renamed(&script, FETCHER, &names[1])?;
    let fetcher = renamed(&fetcher, "weir.js", &names[0])?;
    let [script_name, fetcher_name] = names;
    assets.store_as(fetcher_name, fetcher.as_bytes())?;
    assets.store_as(script_name, script.as_bytes())
}

/// A script that fetches another file by a new name. Inside, the program keeps calling it by the former.
fn renamed(script: &str, from: &str, to: &str) -> Result<String> {
    for fetched in ["from \"./", "new URL(\"./"] {
        let from = format!("{fetched}{from}\"");
        if script.contains(&from) {
            return Ok(script.replace(&from, &format!("{fetched}{to}\"")));
        }
    }
    bail!("no script fetches {from}")
}

/// All style sheets, in the order of their names.
fn style(frontend: &Path) -> Result<String> {
    let mut text = String::new();
    for file in files_below(&frontend.join("style"))? {
        if has_extension(&file, "css") {
            let rules = fs::read_to_string(&file);
            text.push_str(&rules.with_context(|| format!("read {}", file.display()))?);
            text.push('\n');
        }
    }
    Ok(text)
}

/// A file that frontend/vendor/make.sh made.
fn vendored(frontend: &Path, name: &str) -> Result<Vec<u8>> {
    fs::read(frontend.join("vendor").join(name)).with_context(|| format!("read {name}"))
}

fn copy_into(file: &Path, base: &Path, folder: &Path) -> Result<()> {
    let target = folder.join(file.strip_prefix(base)?);
    fs::create_dir_all(target.parent().context("a file has a folder")?)?;
    fs::copy(file, &target).with_context(|| format!("copy {}", file.display()))?;
    Ok(())
}

/// The most bytes that a browser fetches to show the first page: 360 KiB.
const FIRST_BYTES_MAX: u64 = 368_640;
/// The most bytes of each file that is fetched later: 120 KiB.
const PART_BYTES_MAX: u64 = 122_880;
/// The most bytes of the first page and all parts: 1,345 KiB.
const ALL_BYTES_MAX: u64 = 1_377_280;
/// How the names of the parts begin that are fetched later.
const PART: &str = "part";
/// The name of parts that groups of pages share.
const BUNDLE: &str = "parts";
/// The splitter's script.
const FETCHER: &str = "__wasm_split.js";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_small_dashboard_must_keep_the_bounds() {
        let dist = std::env::temp_dir().join(format!("weir-dist-{}", std::process::id()));
        fs::create_dir_all(&dist).expect("a folder");
        fs::write(dist.join("part-1.wasm"), "").expect("a part");
        fs::write(dist.join("part-1.wasm.br"), vec![0; 122_881]).expect("its compressed copy");
        let (other, small) = (report(&dist, false), report(&dist, true));
        fs::remove_dir_all(&dist).expect("the folder goes");
        assert!(other.is_ok());
        assert!(small.is_err_and(|error| error.to_string().contains("part-1.wasm")));
    }
}
