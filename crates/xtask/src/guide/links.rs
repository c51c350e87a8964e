//! Links of pages: where they lead, and whether that exists.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::page::Page;

/// The destination of a link.
#[derive(Debug, PartialEq, Eq)]
pub enum Target {
    /// A file of the tree, by its path below the root.
    File(PathBuf),
    /// Another site, or a path of the server. It is not checked.
    Outside,
}

/// The destination of `link` in the page `from`, without the heading; or the reason why there is none.
pub fn resolve(root: &Path, from: &Path, link: &str) -> Result<Target, String> {
    if link.starts_with("https://") || link.starts_with("http://localhost") || link.starts_with('/')
    {
        return Ok(Target::Outside);
    }
    let path = link.split('#').next().unwrap_or_default();
    if path.is_empty() {
        return Ok(Target::File(from.to_owned()));
    }
    let mut file = from.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir if file.pop() => {}
            Component::Normal(name) => file.push(name),
            _ => return Err("leaves the tree".to_owned()),
        }
    }
    if !root.join(&file).exists() {
        return Err(format!("{} does not exist", file.display()));
    }
    Ok(Target::File(file))
}

/// The links that lead nowhere, each with its page.
pub fn check(root: &Path, pages: &BTreeMap<PathBuf, Page>) -> Vec<String> {
    let mut faults = Vec::new();
    for (from, page) in pages {
        for link in page.links() {
            let fault = match resolve(root, from, link) {
                Ok(Target::Outside) => None,
                Ok(Target::File(file)) => missing_heading(pages, &file, link),
                Err(fault) => Some(fault),
            };
            faults.extend(fault.map(|fault| format!("{}: {link}: {fault}", from.display())));
        }
    }
    faults
}

fn missing_heading(pages: &BTreeMap<PathBuf, Page>, file: &Path, link: &str) -> Option<String> {
    let (_, heading) = link.split_once('#')?;
    let known = pages.get(file).is_some_and(|page| page.has_heading(heading));
    (!known).then(|| format!("{} has no heading #{heading}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_links_are_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = "[a](lib.md#not-there) [b](gone.md) [c](#here) [d](../../../etc) [e](https://x.org)\n\
                    [f](main.rs) [g](#nowhere)\n\n# Here\n";
        let page = Page::parse(text);
        let other = Page::parse("# There\n");
        let pages = BTreeMap::from([
            (PathBuf::from("src/a.md"), page),
            (PathBuf::from("src/lib.md"), other),
        ]);
        // The second page stands in for a file that exists.
        let faults: Vec<_> = check(root, &pages)
            .into_iter()
            .map(|fault| fault.split(": ").nth(1).unwrap_or_default().to_owned())
            .collect();
        assert_eq!(faults, ["lib.md#not-there", "gone.md", "../../../etc", "#nowhere"]);
    }

    #[test]
    fn headings_of_other_pages_are_checked() {
        let pages = BTreeMap::from([(PathBuf::from("b.md"), Page::parse("# There\n\n# There\n"))]);
        let missing = |link: &str| missing_heading(&pages, Path::new("b.md"), link).is_some();
        assert!(!missing("b.md#there") && !missing("b.md#there-1") && !missing("b.md"));
        assert!(missing("b.md#here"));
    }
}
