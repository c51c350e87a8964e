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
    let chapters: Vec<_> = text.lines().filter_map(chapter).collect();
    let first = chapters.first().context("docs/SUMMARY.md names no chapter")?;
    ensure!(first.path == Path::new("README.md"), "the first chapter must be README.md");
    Ok(chapters)
}

/// The chapter of a line like `  - [Title](path.md)`; other lines have none.
fn chapter(line: &str) -> Option<Chapter> {
    let item = line.trim_start();
    let depth = (line.len() - item.len()) / 2;
    let (title, path) = item.trim_start_matches("- ").strip_prefix('[')?.split_once("](")?;
    let path = PathBuf::from(path.strip_suffix(')')?);
    Some(Chapter { title: title.to_owned(), path, depth })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chapters_are_read_with_their_depth() {
        let lines =
            ["# Summary", "[Weir](README.md)", "- [Rules](rules.md)", "  - [A b](x/README.md)"];
        let chapters: Vec<_> = lines.into_iter().filter_map(chapter).collect();
        let found: Vec<_> = chapters
            .iter()
            .map(|chapter| (chapter.title.as_str(), chapter.address(), chapter.depth))
            .collect();
        assert_eq!(
            found,
            [
                ("Weir", PathBuf::from("index.html"), 0),
                ("Rules", PathBuf::from("rules.html"), 0),
                ("A b", PathBuf::from("x/index.html"), 1)
            ]
        );
    }
}
