//! `SUMMARY.md`: the chapters of the guide, in order.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

/// A line of the table of contents.
#[derive(Debug, PartialEq, Eq)]
pub struct Chapter {
    pub title: String,
    /// The file below `docs`.
    pub path: PathBuf,
    /// The number of chapters above it in the tree.
    pub depth: usize,
    /// The title of the part that has it; empty before the first part.
    pub part: String,
}

impl Chapter {
    /// The path of its page below `/guide/`.
    pub fn address(&self) -> PathBuf {
        if self.path.ends_with("README.md") {
            return self.path.with_file_name("index.html");
        }
        self.path.with_extension("html")
    }
}

pub fn read(source: &Path) -> Result<Vec<Chapter>> {
    let text = fs::read_to_string(source.join("SUMMARY.md")).context("read docs/SUMMARY.md")?;
    let chapters = chapters(&text);
    let first = chapters.first().context("docs/SUMMARY.md names no chapter")?;
    ensure!(first.path == Path::new("README.md"), "the first chapter must be README.md");
    Ok(chapters)
}

/// A heading begins a part, except the first one, which is the title of the file.
fn chapters(text: &str) -> Vec<Chapter> {
    let mut part = "";
    let mut headings = 0;
    let mut chapters = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("# ") {
            part = if headings == 0 { "" } else { title };
            headings += 1;
        } else {
            chapters.extend(chapter(line, part));
        }
    }
    chapters
}

/// The chapter of a line like `  - [Title](path.md)`; other lines have none.
fn chapter(line: &str, part: &str) -> Option<Chapter> {
    let item = line.trim_start();
    let depth = (line.len() - item.len()) / 2;
    let (title, path) = item.trim_start_matches("- ").strip_prefix('[')?.split_once("](")?;
    let path = PathBuf::from(path.strip_suffix(')')?);
    Some(Chapter { title: title.to_owned(), path, depth, part: part.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chapters_are_read_with_their_depth_and_part() {
        let text = "# Summary\n\n[Weir](README.md)\n\n# How to\n\n- [Rules](rules.md)\n  - [A b](x/README.md)\n\n\
                    # Reference\n\n- [Bounds](bounds.md)\n";
        let chapters = chapters(text);
        let found: Vec<_> = chapters
            .iter()
            .map(|Chapter { title, depth, part, .. }| (title.as_str(), *depth, part.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("Weir", 0, ""),
                ("Rules", 0, "How to"),
                ("A b", 1, "How to"),
                ("Bounds", 0, "Reference")
            ]
        );
        let addresses: Vec<_> = chapters.iter().map(Chapter::address).collect();
        let expected = ["index.html", "rules.html", "x/index.html", "bounds.html"];
        assert_eq!(addresses, expected.map(PathBuf::from));
    }
}
