//! Files that a page shows: a line `{{#include PATH}}`, as mdBook has it, stands for the file at that path from the page. The
//! repository shows no file there, so a line before it links the file.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

const BEGIN: &str = "{{#include ";
const END: &str = "}}";
/// The end of a line that is not part of the guide.
const REPOSITORY_ONLY: &str = "<!-- in the repository only -->";

/// The text of the page at `page`, with the files that it includes.
pub fn expanded(page: &Path, text: &str) -> Result<String> {
    let mut whole = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let path = line.trim_end().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
        match path {
            None if line.trim_end().ends_with(REPOSITORY_ONLY) => {
                let link = line.split_once("](").and_then(|(_, rest)| rest.split_once(')'));
                let (link, _) =
                    link.with_context(|| format!("{} has no link: {line}", page.display()))?;
                let file = page.parent().unwrap_or(page).join(link);
                ensure!(file.is_file(), "{} links {link}, which does not exist", page.display());
            }
            None => whole.push_str(line),
            Some(path) => {
                let file = page.parent().unwrap_or(page).join(path);
                let included = fs::read_to_string(&file)
                    .with_context(|| format!("{} includes {path}", page.display()))?;
                whole.push_str(&included);
            }
        }
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_stands_for_the_file_at_its_path_from_the_page() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide/page.md");
        let text = expanded(&page, "a\n{{#include ../../instructions.txt}}\nb {{#include x}}\n");
        let file = include_str!("../../instructions.txt");
        assert_eq!(text.expect("it is there"), format!("a\n{file}b {{{{#include x}}}}\n"));
        let only = |link: &str| format!("[a]({link}) <!-- in the repository only -->\n");
        let text = expanded(&page, &only("../../instructions.txt"));
        assert_eq!(text.expect("it is there"), "", "the guide shows the file itself");
        assert!(expanded(&page, &only("no-such-file")).is_err());
        let missing = expanded(&page, "{{#include no-such-file}}").expect_err("no file");
        assert!(missing.to_string().ends_with("page.md includes no-such-file"), "{missing}");
    }
}
