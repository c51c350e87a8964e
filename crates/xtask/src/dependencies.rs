//! `cargo xtask dependencies`: licences, sources and banned libraries, as `deny.toml` states them.
//!
//! The same file serves `cargo deny check bans licenses sources`, which is not needed for this. Advisories are not checked:
//! their database is fetched from the network (`cargo deny check advisories`).

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::workspace::{Workspace, capture};

/// The part of `deny.toml` that is checked.
#[derive(Debug, Default, PartialEq, Eq)]
struct Policy {
    licences: BTreeSet<String>,
    /// Banned libraries, and the crates that may use them all the same.
    bans: Vec<(String, Vec<String>)>,
}

pub fn run(workspace: &Workspace) -> Result<()> {
    let text = fs::read_to_string(workspace.path("deny.toml")).context("read deny.toml")?;
    let policy = Policy::parse(&text);
    let metadata = capture(workspace.cargo().args(["metadata", "--format-version=1", "--locked"]))?;
    let metadata: Value = serde_json::from_str(&metadata).context("read cargo metadata")?;
    let mut faults = faults(&metadata, &policy)?;
    for (library, users) in &policy.bans {
        // The lock file also names what no feature turns on, so the tree that is compiled decides.
        let tree = users_of(workspace, library)?;
        let direct = tree.lines().skip(1).filter_map(|line| line.split_whitespace().next());
        for user in direct.filter(|user| !users.iter().any(|known| known == user)) {
            faults.push(format!("{user} uses {library}, which is banned"));
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    bail!("dependencies that deny.toml refuses:\n  {}", faults.join("\n  "));
}

/// The compiled packages that use a library directly; empty if there is none.
fn users_of(workspace: &Workspace, library: &str) -> Result<String> {
    let mut cargo = workspace.cargo();
    cargo.args([
        "tree",
        "--workspace",
        "--locked",
        "--target",
        "all",
        "--edges",
        "normal,build,dev",
    ]);
    cargo.args(["--prefix", "none", "--depth", "1", "--format", "{p}", "--invert", library]);
    let output = cargo.output().context("run cargo tree")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && !said.contains("did not match any packages") {
        bail!("cargo tree: {}", said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn faults(metadata: &Value, policy: &Policy) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for package in metadata["packages"].as_array().context("packages")? {
        let name = package["name"].as_str().context("a package's name")?;
        let Some(source) = package["source"].as_str() else { continue };
        if source != CRATES_IO {
            faults.push(format!("{name} comes from {source}"));
        }
        let licence = package["license"].as_str().unwrap_or_default();
        if !permitted(licence, &policy.licences) {
            faults.push(format!("{name} has the licence `{licence}`"));
        }
    }
    Ok(faults)
}

/// Whether an SPDX expression can be satisfied: `AND` binds tighter than `OR`, and `/` is an old `OR`.
fn permitted(expression: &str, licences: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    !words.is_empty() && either(&mut rest, licences) && rest.is_empty()
}

fn either(rest: &mut &[&str], licences: &BTreeSet<String>) -> bool {
    let mut found = both(rest, licences);
    while let ["OR", tail @ ..] = rest {
        *rest = tail;
        found |= both(rest, licences);
    }
    found
}

fn both(rest: &mut &[&str], licences: &BTreeSet<String>) -> bool {
    let mut found = one(rest, licences);
    while let ["AND", tail @ ..] = rest {
        *rest = tail;
        found &= one(rest, licences);
    }
    found
}

fn one(rest: &mut &[&str], licences: &BTreeSet<String>) -> bool {
    match *rest {
        ["(", tail @ ..] => {
            *rest = tail;
            let found = either(rest, licences);
            let [")", tail @ ..] = *rest else { return false };
            *rest = tail;
            found
        }
        [name, "WITH", exception, tail @ ..] => {
            *rest = tail;
            licences.contains(&format!("{name} WITH {exception}"))
        }
        [name, tail @ ..] => {
            *rest = tail;
            licences.contains(*name)
        }
        [] => false,
    }
}

impl Policy {
    /// Reads the lists `allow` and `deny`, each item in a line of its own.
    fn parse(text: &str) -> Self {
        let mut policy = Self::default();
        let mut list = "";
        for line in text.lines().map(str::trim) {
            let quoted: Vec<String> =
                line.split('"').skip(1).step_by(2).map(str::to_owned).collect();
            match (line, list) {
                ("allow = [", _) => list = "allow",
                ("deny = [", _) => list = "deny",
                ("]", _) => list = "",
                (_, "allow") => policy.licences.extend(quoted.into_iter().next()),
                (_, "deny") if line.starts_with('{') => {
                    let users = line.contains("wrappers").then(|| quoted[1..].to_vec());
                    if let Some(library) = quoted.first() {
                        policy.bans.push((library.clone(), users.unwrap_or_default()));
                    }
                }
                _ => {}
            }
        }
        policy
    }
}

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy() -> Policy {
        Policy::parse(
            "allow = [\n    \"MIT\",\n    \"Apache-2.0 WITH LLVM-exception\", # why\n]\n\
             deny = [\n    { crate = \"sqlx\", wrappers = [\"weir-store\"] },\n    \
             { crate = \"ring\", reason = \"one set\" },\n]\n",
        )
    }

    #[test]
    fn policy_is_read_from_deny_toml() {
        let policy = policy();
        assert!(policy.licences.contains("Apache-2.0 WITH LLVM-exception"));
        let users = vec!["weir-store".to_owned()];
        assert_eq!(policy.bans, [("sqlx".to_owned(), users), ("ring".to_owned(), Vec::new())]);
    }

    #[test]
    fn licences_are_decided_as_expressions() {
        let licences = policy().licences;
        for fine in [
            "MIT",
            "GPL-3.0 OR MIT",
            "GPL-3.0/MIT",
            "(MIT OR X) AND MIT",
            "X OR Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(permitted(fine, &licences), "{fine}");
        }
        for wrong in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "X AND X OR X", "MIT WITH X"] {
            assert!(!permitted(wrong, &licences), "{wrong}");
        }
    }

    #[test]
    fn foreign_sources_and_licences_are_faults() {
        let metadata = json!({ "packages": [
            { "name": "ours", "source": null, "license": null },
            { "name": "fine", "source": CRATES_IO, "license": "MIT" },
            { "name": "forked", "source": "git+https://example.com/x", "license": "MIT" },
            { "name": "viral", "source": CRATES_IO, "license": "GPL-3.0" },
            { "name": "unlicensed", "source": CRATES_IO },
        ] });
        let faults = faults(&metadata, &policy()).expect("metadata");
        let names: Vec<_> = faults.iter().filter_map(|fault| fault.split(' ').next()).collect();
        assert_eq!(names, ["forked", "viral", "unlicensed"]);
    }
}
