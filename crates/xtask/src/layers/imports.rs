//! The paths that a file names, and the items that it re-exports. Read from the text: no parser is needed for what
//! `rustfmt` has formatted.

use std::collections::BTreeMap;

/// Paths into the crate, each as its parts, without declarations and re-exports.
pub fn imports(code: &str) -> Vec<Vec<String>> {
    let code = without_tests_and_comments(code);
    let children: Vec<&str> = code.lines().filter_map(declared).collect();
    let mut found = Vec::new();
    for (is_use, statement) in statements(&code) {
        if is_use {
            if !statement.starts_with("pub ") && !statement.starts_with("pub(") {
                let tree = statement.trim_start_matches("use ").trim_end_matches(';');
                expand(tree, &[], &mut found);
            }
            continue;
        }
        for word in statement.split(|c: char| !c.is_alphanumeric() && !"_:".contains(c)) {
            let parts: Vec<String> = word.split("::").map(str::to_owned).collect();
            if parts.len() > 1 {
                found.push(parts);
            }
        }
    }
    found.retain(|path| {
        let first = path[0].as_str();
        ["crate", "self", "super"].contains(&first) || children.contains(&first)
    });
    found
}

/// Re-exported names, each with the path that it stands for.
pub fn exports(code: &str) -> BTreeMap<String, Vec<String>> {
    let code = without_tests_and_comments(code);
    let mut found = BTreeMap::new();
    for (is_use, statement) in statements(&code) {
        let exported = statement.split_once(" use ").filter(|_| statement.starts_with("pub"));
        let (true, Some((_, tree))) = (is_use, exported) else { continue };
        let mut paths = Vec::new();
        expand(tree.trim_end_matches(';'), &[], &mut paths);
        for path in paths {
            if let Some(name) = path.last() {
                found.insert(name.clone(), path);
            }
        }
    }
    found
}

/// The name in `mod name;`.
fn declared(line: &str) -> Option<&str> {
    let line = line.strip_suffix(';')?;
    let (before, name) = line.rsplit_once("mod ")?;
    (before.is_empty() || before.starts_with("pub")).then_some(name)
}

/// `use` statements, each on one line, and the text between them.
fn statements(code: &str) -> Vec<(bool, String)> {
    let mut statements = Vec::new();
    let mut open = String::new();
    for line in code.lines() {
        let line = line.trim();
        let begins = line.starts_with("use ")
            || (line.starts_with("pub") && line.split_whitespace().nth(1) == Some("use"));
        if !open.is_empty() || begins {
            open.push_str(line);
            if !line.ends_with('{') && !line.ends_with(';') {
                open.push(' ');
            }
            if line.ends_with(';') {
                statements.push((true, std::mem::take(&mut open)));
            }
        } else {
            statements.push((false, line.to_owned()));
        }
    }
    statements
}

/// All paths of a tree such as `a::{b, c::{self, d as e}}`.
fn expand(tree: &str, before: &[String], found: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    if let Some((path, group)) = tree.split_once('{') {
        let mut before = before.to_vec();
        before.extend(
            path.split("::").filter(|part| !part.is_empty()).map(|part| part.trim().to_owned()),
        );
        let group = group.strip_suffix('}').unwrap_or(group);
        for part in split_group(group) {
            expand(part, &before, found);
        }
        return;
    }
    let mut path = before.to_vec();
    let tree = tree.split(" as ").next().unwrap_or(tree);
    path.extend(tree.split("::").filter(|part| !part.is_empty()).map(str::to_owned));
    if path.len() > 1 && path.last().is_some_and(|last| last == "self" || last == "*") {
        path.pop();
    }
    if !path.is_empty() && !tree.is_empty() {
        found.push(path);
    }
}

/// The members of a group, which can contain groups.
fn split_group(group: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0, 0);
    let mut members = Vec::new();
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                members.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    members.push(&group[start..]);
    members
}

/// The code without comments, without the paths of visibilities and without the test module at its end.
fn without_tests_and_comments(code: &str) -> String {
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or(code);
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let lines = lines.map(|line| line.split(" // ").next().unwrap_or(line));
    lines.map(with_plain_visibility).collect::<Vec<_>>().join("\n")
}

/// A line with `pub` for `pub(in path)`, which is no import of the path.
fn with_plain_visibility(line: &str) -> String {
    let Some((before, rest)) = line.split_once("pub(in ") else { return line.to_owned() };
    let Some((_, after)) = rest.split_once(')') else { return line.to_owned() };
    format!("{before}pub{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_expanded() {
        let code = "mod d;\nuse crate::a::{self, b::{C, e as F}};\nuse d::g;\nuse std::fs;\n\
                    pub use d::h;\nfn f() { super::x::y(Self::z) }\n";
        let paths: Vec<_> = imports(code).iter().map(|path| path.join("::")).collect();
        let expected = ["crate::a", "crate::a::b::C", "crate::a::b::e", "d::g", "super::x::y"];
        assert_eq!(paths, expected);
        assert_eq!(exports(code)["h"], ["d", "h"]);
    }

    #[test]
    fn visibility_is_no_import() {
        let code = "mod d;\npub(in super::super) use d::h;\npub(in super::super) fn f() {}\n";
        assert!(imports(code).is_empty());
        assert_eq!(exports(code)["h"], ["d", "h"]);
    }
}
