//! `cargo xtask quick`: the checks that are fast, and the unit tests of the crates that changed and of those that use them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::workspace::{Workspace, call, capture, step};
use crate::{layers, tidy};

pub fn run(workspace: &Workspace) -> Result<()> {
    step("format", || call(workspace.cargo().args(["fmt", "--all", "--check"])))?;
    step("layers", || layers::run(workspace))?;
    step("tidy", || tidy::run(workspace))?;
    let text = capture(workspace.cargo().args(["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&text).context("read cargo metadata")?;
    let packages = packages(workspace, &metadata)?;
    let concerned = concerned(&packages, &changed_files(workspace)?);
    if concerned.is_empty() {
        println!("no crate has changed");
        return Ok(());
    }
    let chosen: Vec<_> = concerned.iter().flat_map(|name| ["--package", name]).collect();
    step(&format!("lints of {}", names(&concerned)), || {
        let lints = ["--all-targets", "--quiet", "--", "-Dwarnings"];
        call(workspace.cargo().arg("clippy").args(&chosen).args(lints))
    })?;
    println!("== unit tests");
    call(workspace.cargo().arg("test").args(&chosen).args(["--lib", "--bins", "--no-fail-fast"]))
}

/// A crate of the workspace.
struct Package {
    name: String,
    /// Its folder, from the root.
    folder: String,
    /// The names of all that it depends on.
    uses: BTreeSet<String>,
}

fn packages(workspace: &Workspace, metadata: &Value) -> Result<Vec<Package>> {
    let listed = metadata["packages"].as_array().context("packages")?;
    let package = |package: &Value| {
        let manifest = package["manifest_path"].as_str().context("a package's manifest")?;
        let folder = Path::new(manifest).parent().context("a package's folder")?;
        let folder = folder.strip_prefix(&workspace.root).context("a folder outside the root")?;
        let dependencies = package["dependencies"].as_array().context("dependencies")?;
        let uses = dependencies.iter().filter_map(|one| one["name"].as_str().map(str::to_owned));
        Ok(Package {
            name: package["name"].as_str().context("a package's name")?.to_owned(),
            folder: folder.to_string_lossy().into_owned(),
            uses: uses.collect(),
        })
    };
    listed.iter().map(package).collect()
}

/// The files that differ from the upstream branch or, without one, from the last commit.
fn changed_files(workspace: &Workspace) -> Result<Vec<String>> {
    let git = |args: &[&str]| capture(Command::new("git").current_dir(&workspace.root).args(args));
    let upstream = git(&["for-each-ref", "--format=%(upstream:short)", &head(workspace)?])?;
    let base = match upstream.trim() {
        "" => "HEAD".to_owned(),
        upstream => git(&["merge-base", "HEAD", upstream])?.trim().to_owned(),
    };
    let changed = git(&["diff", "--name-only", &base])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(changed.lines().chain(new.lines()).map(str::to_owned).collect())
}

/// The branch, or `HEAD` without one.
fn head(workspace: &Workspace) -> Result<String> {
    let mut command = Command::new("git");
    command.current_dir(&workspace.root).args(["rev-parse", "--symbolic-full-name", "HEAD"]);
    Ok(capture(&mut command)?.trim().to_owned())
}

/// The crates of these files, and all that use them. The store contains the migrations and the descriptions of its SQL.
fn concerned<'a>(packages: &'a [Package], files: &[String]) -> BTreeSet<&'a str> {
    let changed = |package: &Package| {
        files.iter().any(|file| {
            let below =
                |folder: &str| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
            below(&package.folder)
                || package.name == "weir-store" && (below("migrations") || below(".sqlx"))
                || ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"].contains(&file.as_str())
        })
    };
    let mut found: BTreeSet<&str> =
        packages.iter().filter(|package| changed(package)).map(|package| &*package.name).collect();
    loop {
        let users = packages
            .iter()
            .filter(|package| package.uses.iter().any(|name| found.contains(&**name)));
        let with_users: BTreeSet<&str> =
            found.iter().copied().chain(users.map(|package| &*package.name)).collect();
        if with_users.len() == found.len() {
            return found;
        }
        found = with_users;
    }
}

fn names(packages: &BTreeSet<&str>) -> String {
    packages.iter().copied().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, uses: &[&str]) -> Package {
        let uses = uses.iter().map(|&name| name.to_owned()).collect();
        Package { name: name.to_owned(), folder: format!("crates/{name}"), uses }
    }

    #[test]
    fn changed_crates_and_all_that_use_them_are_concerned() {
        let packages = [
            package("weir-domain", &["serde"]),
            package("weir-store", &["weir-domain"]),
            package("weir-control", &["weir-store"]),
            package("weir-redis", &["weir-domain"]),
        ];
        let of = |file: &str| {
            let found = concerned(&packages, &[file.to_owned()]);
            found.into_iter().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("crates/weir-control/src/lib.rs"), "weir-control");
        assert_eq!(of("crates/weir-store/src/lib.rs"), "weir-control weir-store");
        assert_eq!(of("migrations/1_a.sql"), "weir-control weir-store");
        assert_eq!(of("crates/weir-store-more/src/lib.rs"), "");
        assert_eq!(of("docs/README.md"), "");
        assert_eq!(of("Cargo.lock").split(' ').count(), 4);
    }
}
