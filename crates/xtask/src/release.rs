//! `cargo xtask release`: builds the server for a release, without a path of this machine in its binary.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::workspace::{Workspace, call, capture, step};

/// A folder of this machine, and what stands in the binary instead.
struct Prefix {
    path: PathBuf,
    name: &'static str,
    inside: &'static str,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the flags of the caller's environment stay in force"
)]
pub fn run(workspace: &Workspace) -> Result<()> {
    let prefixes = prefixes(workspace)?;
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--release", "--locked", "--package", "weir-server"]);
    // Whatever the caller's environment adds stays. Separated as cargo does for paths with blanks.
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
    step("no build path in the binary", || clean(&binary, &prefixes))
}

/// Folders of this machine, and what stands in the binary instead. Of two that match, the compiler takes the last.
/// With each a folder inside it: its path alone could be part of a text by chance.
fn prefixes(workspace: &Workspace) -> Result<Vec<Prefix>> {
    let sysroot = capture(std::process::Command::new("rustc").args(["--print", "sysroot"]))?;
    let home = PathBuf::from(env::var_os("HOME").context("HOME is not set")?);
    let cargo = env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let prefix = |path: PathBuf, name, inside| Prefix { path, name, inside };
    Ok(vec![
        prefix(workspace.target.clone(), "target", "release"),
        prefix(cargo, "cargo", "registry"),
        prefix(PathBuf::from(sysroot.trim()), "rust", "lib"),
        prefix(workspace.root.clone(), "weir", "crates"),
    ])
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

impl Prefix {
    /// The option of a compiler that replaces it.
    fn flag(&self, option: &str) -> String {
        format!("{option}={}={}", self.path.display(), self.name)
    }
}

fn count(bytes: &[u8], needle: &[u8]) -> usize {
    bytes.windows(needle.len()).filter(|window| *window == needle).count()
}

#[cfg(test)]
mod tests {
    use super::*;

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
