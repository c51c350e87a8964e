//! Joins the code that groups of pages share into few files.
//!
//! The splitter makes a file for each set of groups that share code: dozens, most of them small and much alike. In a
//! bundle they follow each other, so they compress better and a page needs few requests. The script that fetches the
//! parts cuts the bundles again.

use std::ops::Range;

use anyhow::{Context as _, Result, ensure};

/// Files, one after another.
#[derive(Default)]
pub struct Bundle {
    pub bytes: Vec<u8>,
    files: Vec<(String, Range<usize>)>,
}

/// Whether the splitter made this file for several groups.
pub fn is_shared(name: &str) -> bool {
    name.starts_with("chunk_")
}

/// The shared files in bundles, those of most groups first: what a page needs of the first bundles is most of them.
pub fn bundles(script: &str, files: Vec<(String, Vec<u8>)>) -> Result<Vec<Bundle>> {
    let mut ranked = Vec::with_capacity(files.len());
    for (name, bytes) in files {
        let groups = groups(script, &name)?;
        ranked.push((std::cmp::Reverse(groups.len()), groups, name, bytes));
    }
    ranked.sort();
    let mut bundles: Vec<Bundle> = Vec::new();
    for (_, _, name, bytes) in ranked {
        match bundles.last_mut() {
            Some(last) if last.bytes.len() + bytes.len() <= BUNDLE_BYTES => last.add(name, &bytes),
            _ => {
                let mut next = Bundle::default();
                next.add(name, &bytes);
                bundles.push(next);
            }
        }
    }
    Ok(bundles)
}

/// The names of the groups that use a file, which the splitter writes above the function that fetches it.
fn groups<'a>(script: &'a str, name: &str) -> Result<Vec<&'a str>> {
    let missing = || format!("the script does not name the groups of {name}");
    let (before, _) = script.split_once(&fetched(name)).with_context(missing)?;
    let (_, comment) = before.rsplit_once("/* ").with_context(missing)?;
    let (groups, _) = comment.split_once(" */").with_context(missing)?;
    Ok(groups.split(", ").collect())
}

impl Bundle {
    fn add(&mut self, name: String, bytes: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.files.push((name, start..self.bytes.len()));
    }

    /// The script, which now fetches these files from the bundle that is stored as `stored`.
    pub fn cut_by(&self, mut script: String, stored: &str) -> Result<String> {
        for (name, Range { start, end }) in &self.files {
            let whole = fetched(name);
            ensure!(script.contains(&whole), "no script fetches {name}");
            let piece = format!("piece(new URL(\"./{stored}\", import.meta.url), {start}, {end})");
            script = script.replace(&whole, &piece);
        }
        Ok(script)
    }
}

/// How the splitter's script fetches a file.
fn fetched(name: &str) -> String {
    format!("fetch(new URL(\"./{name}\", import.meta.url))")
}

/// The function that fetches bundles and cuts them.
pub const CUTTER: &str = include_str!("piece.js");

/// The most bytes of a bundle of several files; about a third after compression.
const BUNDLE_BYTES: usize = 330_000;

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = r#"/* a, b */
const __chunk_1 = makeLoad(() => {
    const src = fetch(new URL("./chunk_1.wasm", import.meta.url));
}, []);
/* a, b, c */
const __chunk_2 = makeLoad(() => {
    const src = fetch(new URL("./chunk_2.wasm", import.meta.url));
}, []);
/* a, c */
const __chunk_3 = makeLoad(() => {
    const src = fetch(new URL("./chunk_3.wasm", import.meta.url));
}, []);
"#;

    fn file(name: &str, length: usize) -> (String, Vec<u8>) {
        (name.to_owned(), vec![name.as_bytes()[6]; length])
    }

    #[test]
    fn files_of_most_groups_come_first_and_bundles_are_bounded() {
        let files = vec![
            file("chunk_1.wasm", BUNDLE_BYTES - 4),
            file("chunk_2.wasm", 4),
            file("chunk_3.wasm", BUNDLE_BYTES + 1),
        ];
        let bundles = bundles(SCRIPT, files).expect("bundles");
        let lengths: Vec<_> = bundles.iter().map(|bundle| bundle.bytes.len()).collect();
        assert_eq!(lengths, [BUNDLE_BYTES, BUNDLE_BYTES + 1]);
        assert_eq!(bundles[0].bytes[..5], *b"22221");
    }

    #[test]
    fn the_script_fetches_pieces_of_bundles() {
        let files = vec![file("chunk_1.wasm", 3), file("chunk_2.wasm", 4)];
        let bundles = bundles(SCRIPT, files).expect("bundles");
        let script = bundles[0].cut_by(SCRIPT.to_owned(), "parts-0.bin").expect("a script");
        assert!(script.contains(r#"piece(new URL("./parts-0.bin", import.meta.url), 0, 4)"#));
        assert!(script.contains(r#"piece(new URL("./parts-0.bin", import.meta.url), 4, 7)"#));
        assert!(script.contains(r#"fetch(new URL("./chunk_3.wasm", import.meta.url))"#));
        assert!(bundles[0].cut_by(script, "parts-0.bin").is_err(), "they are not fetched any more");
    }

    #[test]
    fn a_file_that_no_script_fetches_is_refused() {
        assert!(bundles(SCRIPT, vec![file("chunk_4.wasm", 1)]).is_err());
    }
}
