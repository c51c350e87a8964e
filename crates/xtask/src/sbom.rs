//! `cargo xtask sbom`: the crates in the server's binary, with licences and checksums, as `CycloneDX` 1.5.
//!
//! From cargo rather than from a scanner: syft 1.18 finds no crate in the binary, and in Cargo.lock it finds those of the tests too, but no
//! licence and no checksum.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::workspace::{Workspace, capture};

/// Writes it to `out`, or prints it.
pub fn run(workspace: &Workspace, out: Option<&Path>) -> Result<()> {
    // The binary contains the dashboard.
    let dashboard = ["weir-frontend", "--target", "wasm32-unknown-unknown"];
    let tree = tree(workspace, &["weir-server"])? + &tree(workspace, &dashboard)?;
    let lock = fs::read_to_string(workspace.path("Cargo.lock")).context("read Cargo.lock")?;
    let text = serde_json::to_string_pretty(&describe(&tree, &checksums(&lock)))? + "\n";
    match out {
        Some(file) => fs::write(file, text).with_context(|| format!("write {}", file.display())),
        None => {
            print!("{text}");
            Ok(())
        }
    }
}

fn tree(workspace: &Workspace, package: &[&str]) -> Result<String> {
    let mut cargo = workspace.cargo();
    cargo.args(["tree", "--locked", "--edges", "normal", "--prefix", "none"]);
    cargo.args(["--format", "{p}|{l}", "--package"]).args(package);
    capture(&mut cargo)
}

/// The document for lines of `name vVERSION (source)|licence`.
fn describe(tree: &str, checksums: &HashMap<(String, String), String>) -> Value {
    let lines: BTreeSet<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    let mut components = Vec::new();
    for line in lines {
        let (package, licence) = line.split_once('|').unwrap_or((line, ""));
        let mut words = package.split_whitespace();
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        let version = version.trim_start_matches('v');
        let mut component = json!({
            "type": "library",
            "name": name,
            "version": version,
            "purl": format!("pkg:cargo/{name}@{version}"),
        });
        if !licence.is_empty() {
            component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
        }
        if let Some(sha256) = checksums.get(&(name.to_owned(), version.to_owned())) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sha256 }]);
        }
        components.push(component);
    }
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": "weir" } },
        "components": components,
    })
}

/// The checksums of the lock file, by name and version.
fn checksums(lock: &str) -> HashMap<(String, String), String> {
    let mut found = HashMap::new();
    for package in lock.split("[[package]]") {
        let field = |name: &str| {
            let mut values = package.lines().filter_map(|line| line.strip_prefix(name));
            values.next()?.strip_prefix(" = \"")?.strip_suffix('"').map(str::to_owned)
        };
        if let (Some(name), Some(version), Some(sum)) =
            (field("name"), field("version"), field("checksum"))
        {
            found.insert((name, version), sum);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_a_component_once_with_its_checksum() {
        let lock = "[[package]]\nname = \"serde\"\nversion = \"1.0.1\"\nchecksum = \"ab12\"\n";
        let tree = "weir-server v0.1.0 (/somewhere)|Apache-2.0\nserde v1.0.1|MIT/Apache-2.0\n\
                    serde v1.0.1|MIT/Apache-2.0 (*)\n";
        let document = describe(tree, &checksums(lock));
        let components = document["components"].as_array().expect("a list");
        assert_eq!(components.len(), 2);
        assert_eq!(components[0]["purl"], "pkg:cargo/serde@1.0.1");
        assert_eq!(components[0]["hashes"][0]["content"], "ab12");
        assert_eq!(components[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert!(!document.to_string().contains("/somewhere"), "no path of the machine");
    }
}
