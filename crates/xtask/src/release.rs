//! `cargo xtask release`: builds the server for a release, without a path of this machine in its binary, and puts its debug
//! information into a file of its own. The binary contains the dashboard and the guide, and the list of its crates (`cargo
//! auditable`), which scanners of known vulnerabilities read. Writes the bill of materials beside it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::build_paths::{self, Prefix};
use crate::pages;
use crate::sbom;
use crate::setup;
use crate::workspace::{EMBED, Workspace, call, capture, step};

/// The section with the list of crates, as compressed JSON.
const CRATES_SECTION: &str = ".dep-v0";

#[expect(
    clippy::disallowed_methods,
    reason = "the flags of the caller's environment stay in force"
)]
pub fn run(workspace: &Workspace) -> Result<()> {
    let prefixes = build_paths::all(workspace)?;
    setup::install_auditable(workspace)?;
    let auditable = setup::auditable(workspace).context("cargo-auditable is not installed")?;
    let mut cargo = workspace.cargo();
    // Cargo finds its further commands on the path.
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = auditable.parent().map(Path::to_owned).into_iter().chain(env::split_paths(&path));
    cargo.env("PATH", env::join_paths(folders).context("extend PATH")?);
    cargo.args(["auditable", "build", "--release", "--locked", "--package", "weir-server"]);
    cargo.args(EMBED);
    // Flags of the caller's environment stay in force. The separator is the one that cargo uses for paths with blanks.
    let mut flags: Vec<String> =
        env::var("RUSTFLAGS").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    flags.extend(prefixes.iter().map(|prefix| prefix.flag("--remap-path-prefix")));
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    // The same for libraries in C.
    let mapped: Vec<String> =
        prefixes.iter().map(|prefix| prefix.flag("-ffile-prefix-map")).collect();
    cargo.env("CFLAGS", format!("{} {}", env::var("CFLAGS").unwrap_or_default(), mapped.join(" ")));
    step("release build", || call(&mut cargo))?;
    let binary = workspace.target.join("release").join("weir");
    step("no build path in the binary", || clean(&binary, &prefixes))?;
    step("debug information in a file of its own", || separate_debug(&binary))?;
    step("the binary lists its crates", || lists_its_crates(&binary))?;
    step("the binary has its pages", || pages::check(&binary))?;
    step("bill of materials", || sbom::run(workspace, Some(&binary.with_extension("cdx.json"))))
}

/// Moves debug information and symbols into `BINARY.debug`. Debuggers find it there by the name that the binary keeps.
fn separate_debug(binary: &Path) -> Result<()> {
    if !cfg!(target_os = "linux") {
        println!("   only done on Linux");
        return Ok(());
    }
    let debug = binary.with_extension("debug");
    let stripped = binary.with_extension("stripped");
    call(Command::new("objcopy").arg("--only-keep-debug").args([binary, &debug]))?;
    let mut link = OsString::from("--add-gnu-debuglink=");
    link.push(&debug);
    call(Command::new("objcopy").arg("--strip-all").arg(link).args([binary, &stripped]))?;
    // Cargo has another link to the whole binary, which stays as it is.
    fs::rename(&stripped, binary).context("replace the binary by the stripped one")?;
    for file in [binary, &debug] {
        println!("   {:>6} KiB: {}", fs::metadata(file)?.len() / 1024, file.display());
    }
    Ok(())
}

/// Fails if one of the folders is named in the file.
fn clean(binary: &Path, prefixes: &[Prefix]) -> Result<()> {
    let bytes = fs::read(binary).with_context(|| format!("read {}", binary.display()))?;
    for prefix in prefixes {
        let path = prefix.path.join(prefix.inside);
        let path = path.to_string_lossy();
        let found = count(&bytes, path.as_bytes());
        ensure!(found == 0, "{} names {path} {found} times", binary.display());
    }
    Ok(())
}

/// Fails if the binary does not contain the list of its crates.
fn lists_its_crates(binary: &Path) -> Result<()> {
    if !cfg!(target_os = "linux") {
        println!("   only checked on Linux");
        return Ok(());
    }
    let sections = capture(Command::new("readelf").args(["--sections", "--wide"]).arg(binary))?;
    ensure!(sections.contains(CRATES_SECTION), "{} has no {CRATES_SECTION}", binary.display());
    Ok(())
}

fn count(bytes: &[u8], needle: &[u8]) -> usize {
    bytes.windows(needle.len()).filter(|window| *window == needle).count()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn stripped_binary_runs_and_its_debug_information_is_beside_it() {
        if !cfg!(target_os = "linux") {
            return;
        }
        let folder = env::temp_dir().join(format!("weir-strip-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let binary = folder.join("tests");
        fs::copy(env::current_exe().expect("this binary"), &binary).expect("copied");
        separate_debug(&binary).expect("stripped");
        let sections = capture(Command::new("readelf").args(["--sections", "--wide"]).arg(&binary))
            .expect("its sections");
        let listed = Command::new(&binary).arg("--list").output().expect("it starts");
        let debug = folder.join("tests.debug").is_file();
        fs::remove_dir_all(&folder).expect("removed");
        assert!(listed.status.success() && debug);
        assert!(sections.contains(".gnu_debuglink"), "{sections}");
        assert!(!sections.contains(".symtab") && !sections.contains(".debug_info"), "{sections}");
    }

    #[test]
    fn binary_without_the_list_of_its_crates_is_refused() {
        if !cfg!(target_os = "linux") {
            return;
        }
        let own = env::current_exe().expect("this binary");
        let refused = lists_its_crates(&own).expect_err("it has no list").to_string();
        assert!(refused.ends_with("has no .dep-v0"), "{refused}");
    }

    #[test]
    fn path_in_a_binary_is_found() {
        let file = env::temp_dir().join(format!("weir-release-{}", std::process::id()));
        let path = PathBuf::from("/build/here");
        let prefixes = [Prefix { path, name: "weir", inside: "crates" }];
        fs::write(&file, b"\0weir/crates/main.rs\0 /build/here").expect("written");
        clean(&file, &prefixes).expect("clean");
        fs::write(&file, b"\0/build/here/crates/main.rs\0").expect("written");
        let refused = clean(&file, &prefixes).expect_err("a path").to_string();
        fs::remove_file(&file).expect("removed");
        assert!(refused.ends_with("names /build/here/crates 1 times"), "{refused}");
    }
}
