//! `cargo xtask layers`: dependencies between our crates point down, the libraries that reach the outside world are used
//! in one place each, and no files of a crate import each other in a cycle. Development dependencies count as well.

mod files;
mod imports;

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::workspace::{Workspace, capture};

pub fn run(workspace: &Workspace) -> Result<()> {
    let text = capture(workspace.cargo().args(["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&text).context("read cargo metadata")?;
    let mut faults = faults(&metadata)?;
    faults.extend(cycles(workspace, &metadata)?);
    if faults.is_empty() {
        return Ok(());
    }
    bail!("arrows that do not point down:\n  {}", faults.join("\n  "));
}

/// Files that import each other.
fn cycles(workspace: &Workspace, metadata: &Value) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for package in metadata["packages"].as_array().context("packages")? {
        let manifest = package["manifest_path"].as_str().context("a package's manifest")?;
        let folder = Path::new(manifest).parent().context("a package's folder")?;
        for cycle in files::cycles(&workspace.root, folder)? {
            faults.push(format!("files import each other: {cycle}"));
        }
    }
    Ok(faults)
}

fn faults(metadata: &Value) -> Result<Vec<String>> {
    let packages = metadata["packages"].as_array().context("packages")?;
    let mut faults = Vec::new();
    for package in packages {
        let name = package["name"].as_str().context("a package's name")?;
        if layer(name).is_none() {
            faults.push(format!("{name} has no layer: add it to the list in layers.rs"));
        }
        for dependency in package["dependencies"].as_array().context("dependencies")? {
            let on = dependency["name"].as_str().context("a dependency's name")?;
            // An optional weir-local belongs to a feature that only tests turn on.
            let optional = on == "weir-local" && dependency["optional"] == true;
            let for_tests = dependency["kind"] == "dev" || optional;
            if !may_use(name, on, for_tests) {
                let kind = if for_tests { " in its tests" } else { "" };
                faults.push(format!("{name} uses {on}{kind}"));
            }
        }
    }
    Ok(faults)
}

fn may_use(user: &str, used: &str, for_tests: bool) -> bool {
    if let Some((_, users)) = CONFINED.iter().find(|(name, _)| *name == used) {
        return users.contains(&user);
    }
    match (used, layer(used)) {
        // A crate's tests may name the crate itself, with more features on.
        _ if used == user => for_tests,
        ("weir-local", _) => for_tests || ["weir-server", "weir-bench", "xtask"].contains(&user),
        (_, None) => true,
        (_, Some(below)) if user == "weir-frontend" => {
            ["weir-domain", "weir-wire"].contains(&used) && below < ASIDE
        }
        (_, Some(below)) => {
            layer(user).is_some_and(|above| above < ASIDE && below < above)
                || (user == "weir-tests" && used == "weir-wire")
        }
    }
}

/// Layer numbers of ARCHITECTURE.md; crates aside use none of the others unless said above.
fn layer(name: &str) -> Option<u8> {
    Some(match name {
        "weir-domain" | "weir-trace" => 0,
        "weir-store" | "weir-wire" | "weir-redis" | "weir-webhook" | "weir-mail" | "weir-oidc"
        | "weir-rls" => 1,
        "weir-http" | "weir-manifest" | "weir-region" => 2,
        "weir-control" | "weir-gate" => 3,
        "weir-server" | "weir-bench" => 4,
        "weir-bind" | "weir-frontend" | "weir-local" | "weir-tests" | "xtask" => ASIDE,
        _ => return None,
    })
}

const ASIDE: u8 = 9;

/// Libraries with a home, and who may use them.
const CONFINED: [(&str, &[&str]); 8] = [
    ("openidconnect", &["weir-oidc"]),
    ("sqlx", &["weir-store"]),
    ("opentelemetry-otlp", &["weir-trace"]),
    ("lettre", &["weir-mail"]),
    ("redis", &["weir-redis", "weir-bench"]),
    ("leptos", &["weir-frontend"]),
    ("leptos_router", &["weir-frontend"]),
    ("axum", &["weir-http", "weir-control", "weir-gate", "weir-server", "weir-bench"]),
];

#[cfg(test)]
mod tests {
    use super::may_use;

    #[test]
    fn arrows_point_down() {
        for (user, used, for_tests, allowed) in [
            ("weir-gate", "weir-store", false, true),
            ("weir-store", "weir-gate", false, false),
            ("weir-gate", "weir-control", true, false),
            ("weir-store", "weir-wire", false, false),
            ("weir-store", "weir-local", true, true),
            ("weir-store", "weir-local", false, false),
            ("weir-server", "weir-local", false, true),
            ("weir-local", "weir-domain", false, false),
            ("weir-frontend", "weir-wire", false, true),
            ("weir-frontend", "weir-store", false, false),
            ("weir-tests", "weir-wire", true, true),
            ("weir-gate", "weir-gate", true, true),
            ("weir-control", "sqlx", true, false),
            ("weir-store", "sqlx", false, true),
            ("weir-domain", "axum", false, false),
            ("weir-domain", "regex", false, true),
        ] {
            assert_eq!(may_use(user, used, for_tests), allowed, "{user} uses {used}");
        }
    }
}
