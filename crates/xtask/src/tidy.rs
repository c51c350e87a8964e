//! `cargo xtask tidy`: what the compiler and its lints do not see in the text of the sources.

mod copy;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::workspace::{Workspace, has_extension};

/// Prints every retired word with its file and line, also where it is not a fault yet, and fails if there is one.
pub fn words(workspace: &Workspace) -> Result<()> {
    let mut counts = BTreeMap::new();
    for file in sources(workspace)? {
        let Ok(text) = fs::read_to_string(workspace.root.join(&file)) else {
            // Not text.
            continue;
        };
        for found in words::find(&file, &text) {
            println!("{}:{}: {}: {}", file.display(), found.line, found.word, found.advice);
            *counts.entry(found.word).or_insert(0_u32) += 1;
        }
    }
    if counts.is_empty() {
        return Ok(());
    }
    let total: u32 = counts.values().sum();
    let counts: Vec<_> = counts.iter().map(|(word, count)| format!("{word}: {count}")).collect();
    bail!("{total} retired words:\n  {}", counts.join("\n  "));
}

pub fn run(workspace: &Workspace) -> Result<()> {
    let mut faults = Vec::new();
    for file in sources(workspace)? {
        let Ok(text) = fs::read_to_string(workspace.root.join(&file)) else {
            // Not text.
            continue;
        };
        for found in words::find(&file, &text) {
            if !words::is_known(&file, found.word) {
                let (line, word, advice) = (found.line, found.word, found.advice);
                faults.push(format!("{}: line {line}: {word}: {advice}", file.display()));
            }
        }
        for fault in inspect(&file, &text) {
            match fault {
                Fault::Wrong(what) => faults.push(format!("{}: {what}", file.display())),
                Fault::Doubtful(what) => println!("   warning: {}: {what}", file.display()),
            }
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    bail!("untidy:\n  {}", faults.join("\n  "));
}

#[derive(Debug, PartialEq, Eq)]
enum Fault {
    Wrong(String),
    Doubtful(String),
}

/// Every file of ours below the root, by its path from there. Not asked of git, which may be
/// absent where a release is built.
fn sources(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut folders = vec![workspace.root.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                if !FOREIGN.contains(&name.as_ref()) {
                    folders.push(path);
                }
            } else {
                files.push(path.strip_prefix(&workspace.root)?.to_owned());
            }
        }
    }
    files.sort();
    Ok(files)
}

fn inspect(file: &Path, text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    let generated = has_extension(file, "lock")
        || has_extension(file, "json")
        || text.contains("// This file is @generated");
    if has_extension(file, "rs") && !generated {
        faults.extend(inspect_rust(file, text));
    }
    for (number, line) in text.lines().enumerate() {
        let at = |what: &str| Fault::Wrong(format!("line {}: {what}", number + 1));
        if line.ends_with([' ', '\t']) && !generated {
            faults.push(at("space at the end"));
        }
        if MACHINE_PATHS.iter().any(|path| line.contains(path)) && !is_about_containers(file) {
            faults.push(at("a path of one machine"));
        }
    }
    faults
}

fn inspect_rust(file: &Path, text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    // A tests.rs continues the file it belongs to and shares its comment.
    if !text.starts_with("//! ") && !file.ends_with("tests.rs") {
        faults.push(Fault::Wrong("does not begin with a //! comment".to_owned()));
    }
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let lines = code.lines().count();
    let is_test = file.ends_with("tests.rs") || file.iter().any(|part| part == "tests");
    match lines {
        0..=400 => {}
        _ if is_test => {}
        401..=600 => faults.push(Fault::Doubtful(format!("{lines} lines; split it"))),
        _ => faults.push(Fault::Wrong(format!("{lines} lines; at most 600"))),
    }
    // This file is the one that has to spell the words out.
    if file.ends_with("xtask/src/tidy.rs") {
        return faults;
    }
    for (line, fault) in copy::find(file, text) {
        faults.push(Fault::Wrong(format!("line {line}: {fault}")));
    }
    for (number, line) in text.lines().enumerate() {
        for (word, advice) in UNWANTED {
            if line.contains(word) {
                let at = number + 1;
                faults.push(Fault::Wrong(format!("line {at}: {word}: {advice}")));
            }
        }
    }
    faults
}

/// Files that describe a container or a package name that container's paths.
fn is_about_containers(file: &Path) -> bool {
    file.ends_with("xtask/src/tidy.rs")
}

/// Folders that hold nothing we wrote.
const FOREIGN: [&str; 10] = [
    ".git",
    ".sqlx",
    ".weir",
    "dist",
    "dist.new",
    "dist-reference",
    "dist-reference.new",
    "node_modules",
    "screenshots",
    "target",
];

const MACHINE_PATHS: [&str; 3] = ["/root/", "/home/", "/Users/"];

const UNWANTED: [(&str, &str); 6] = [
    ("TODO", "do it, or write FIXME with an issue"),
    ("dbg!(", "remove it"),
    ("#[ignore", "a test runs or is removed"),
    ("#[allow(", "use expect with a reason"),
    ("#![allow(", "use expect with a reason"),
    ("thread::sleep(", "wait for a condition with a deadline"),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Fault, inspect};

    fn faults(text: &str) -> Vec<Fault> {
        inspect(Path::new("crates/x/src/lib.rs"), text)
    }

    #[test]
    fn clean_file_has_no_faults() {
        assert_eq!(faults("//! Says what it is.\nfn f() {}\n"), []);
    }

    #[test]
    fn each_fault_is_found() {
        for text in [
            "fn f() {}\n",
            "//! X.\n// TODO later\n",
            "//! X.\nfn f() {} \n",
            "//! X.\n#[allow(dead_code)]\n",
            "//! X.\nconst P: &str = \"/home/me/x\";\n",
        ] {
            assert_eq!(faults(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn long_files_are_faults() {
        let long = format!("//! X.\n{}", "\n".repeat(700));
        assert!(matches!(faults(&long)[..], [Fault::Wrong(_)]));
    }
}
