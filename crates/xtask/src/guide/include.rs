//! Files that a page shows: a line `{{#include PATH}}`, as mdBook has it, stands for the file at that path from the page.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

const BEGIN: &str = "{{#include ";
const END: &str = "}}";

/// The text of the page at `page`, with the files that it includes.
pub fn expanded(page: &Path, text: &str) -> Result<String> {
    let mut whole = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let path = line.trim_end().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
        match path {
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
        let missing = expanded(&page, "{{#include no-such-file}}").expect_err("no file");
        assert!(missing.to_string().ends_with("page.md includes no-such-file"), "{missing}");
    }
}
