//! Import cycles between the files of one crate.
//!
//! A file imports another when it names an item of it by `crate::`, `self::` or `super::`, or by the name of one of its
//! own child modules. Declarations of modules and re-exports (`mod`, `pub use`) are not imports, and test modules do
//! not count: they see all of the file that they test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::imports::{exports, imports};
use crate::workspace::{files_below, has_extension};

/// The path of a module below its crate.
type Module = Vec<String>;

/// One file of a crate.
struct Source {
    path: PathBuf,
    code: String,
}

/// Groups of files that import each other, one line for each.
pub fn cycles(root: &Path, crate_folder: &Path) -> Result<Vec<String>> {
    let mut sources = BTreeMap::new();
    let source = crate_folder.join("src");
    for path in files_below(&source)?.into_iter().filter(|path| has_extension(path, "rs")) {
        let below = path.strip_prefix(&source).context("a file below src")?;
        if let Some(module) = module_of(below) {
            let code =
                fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            let path = path.strip_prefix(root).context("a file of the tree")?.to_owned();
            sources.insert(module, Source { path, code });
        }
    }
    let groups = groups(&edges(&sources));
    Ok(groups
        .into_iter()
        .map(|group| {
            let files: Vec<_> =
                group.iter().map(|module| sources[module].path.display().to_string()).collect();
            files.join(" ↔ ")
        })
        .collect())
}

/// The module of a file, or `None` for tests.
fn module_of(below: &Path) -> Option<Module> {
    let path = below.with_extension("");
    let mut module: Module = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if module.iter().any(|part| part == "tests" || part == "test_support") {
        return None;
    }
    if let [root] = module.as_slice()
        && ["lib", "main"].contains(&root.as_str())
    {
        module.clear();
    }
    Some(module)
}

fn edges(sources: &BTreeMap<Module, Source>) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut edges = BTreeMap::new();
    for (module, source) in sources {
        let mut targets = BTreeSet::new();
        for path in imports(&source.code) {
            if let Some(target) = resolve(sources, module, &path)
                && target != *module
            {
                targets.insert(target);
            }
        }
        edges.insert(module.clone(), targets);
    }
    edges
}

/// The module that defines the item at `path`, seen from `from`. A re-export leads on to the module that it names.
fn resolve(sources: &BTreeMap<Module, Source>, from: &Module, path: &[String]) -> Option<Module> {
    let (mut base, mut rest): (Module, &[String]) = match path.first()?.as_str() {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (from.clone(), &path[1..]),
        "super" => {
            let ups = path.iter().take_while(|part| *part == "super").count();
            (from[..from.len().checked_sub(ups)?].to_vec(), &path[ups..])
        }
        _ => (from.clone(), path),
    };
    let relative = !matches!(path[0].as_str(), "crate" | "self" | "super");
    while let Some(next) = rest.first() {
        let mut child = base.clone();
        child.push(next.clone());
        if !sources.contains_key(&child) {
            break;
        }
        base = child;
        rest = &rest[1..];
    }
    if relative && base == *from {
        return None;
    }
    let Some(item) = rest.first() else { return Some(base) };
    let Some(behind) = exports(&sources.get(&base)?.code).remove(item) else { return Some(base) };
    match resolve(sources, &base, &behind) {
        Some(target) if target != base => Some(target),
        // A re-export of another crate, or of the file itself.
        _ => Some(base),
    }
}

/// The strongly connected groups of more than one module.
fn groups(edges: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<Module>> {
    let reach: BTreeMap<_, _> =
        edges.keys().map(|module| (module, reachable(edges, module))).collect();
    let mut groups: Vec<BTreeSet<Module>> = Vec::new();
    for (module, reached) in &reach {
        if groups.iter().any(|group| group.contains(*module)) || !reached.contains(*module) {
            continue;
        }
        let group = reached
            .iter()
            .filter(|other| reach.get(other).is_some_and(|back| back.contains(*module)));
        groups.push(group.cloned().collect());
    }
    groups
}

fn reachable(edges: &BTreeMap<Module, BTreeSet<Module>>, from: &Module) -> BTreeSet<Module> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in edges.get(module).into_iter().flatten() {
            if reached.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let sources = files
            .iter()
            .filter_map(|(path, code)| {
                let source = Source { path: path.into(), code: (*code).to_owned() };
                Some((module_of(Path::new(path))?, source))
            })
            .collect();
        let named =
            |group: BTreeSet<Module>| group.iter().map(|module| module.join("::")).collect();
        groups(&edges(&sources)).into_iter().map(named).collect()
    }

    #[test]
    fn files_that_import_each_other_are_found() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use a::A;\n"),
            ("a.rs", "use crate::b::{B, other};\npub struct A;"),
            ("b.rs", "fn f() { crate::a::g() }\npub struct B;"),
        ];
        assert_eq!(found(&files), [["a", "b"]]);
    }

    #[test]
    fn child_that_imports_from_its_parent_is_a_cycle_if_the_parent_uses_it() {
        let parent = "mod child;\nuse child::f;\npub struct P;\nfn g() { f() }";
        let files = [("lib.rs", "mod p;"), ("p.rs", parent), ("p/child.rs", "use super::P;")];
        assert_eq!(found(&files), [["p", "p::child"]]);
        let declares = "mod child;\nmod other;\npub use child::f;\npub use other::P;";
        let files = [
            ("lib.rs", "mod p;"),
            ("p.rs", declares),
            ("p/child.rs", "use super::P;"),
            ("p/other.rs", "pub struct P;"),
        ];
        assert_eq!(found(&files), Vec::<Vec<String>>::new());
    }

    #[test]
    fn tests_and_one_way_imports_are_no_cycles() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use a::A;"),
            ("a.rs", "pub struct A;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}"),
            ("b.rs", "use crate::A;\npub struct B; // crate::b::B in a comment"),
            ("a/tests.rs", "use super::*; use crate::b::B;"),
        ];
        assert_eq!(found(&files), Vec::<Vec<String>>::new());
    }
}
