use std::path::Path;

use super::find;

fn words(file: &str, text: &str) -> Vec<(usize, &'static str)> {
    find(Path::new(file), text).into_iter().map(|found| (found.line, found.word)).collect()
}

#[test]
fn names_are_found_in_code_alone() {
    let text = "struct Told;\n// The Told of old.\nlet a = \"Told\";\nfn who_told(rows: Kept) {}\n";
    assert_eq!(words("crates/a.rs", text), [(1, "Told"), (4, "told"), (4, "kept")]);
}

#[test]
fn phrases_are_found_in_comments_strings_and_pages() {
    let text = "// It is told so.\nlet a = \"so many\";\nlet is_told = so.many;\nlet b = r#\"a \" so many\"#;\n";
    let expected = [(1, "is told"), (2, "so many"), (3, "told"), (4, "so many")];
    assert_eq!(words("crates/a.rs", text), expected);
    assert_eq!(words("docs/a.md", "Nobody is told.\n```\nis told\n```\n"), [(1, "is told")]);
}

#[test]
fn comments_that_begin_as_fragments_are_found() {
    let text = "/// Whose.\n/// The rule of the\n/// Which kind. Who knows? Whoever asks.\n";
    assert_eq!(words("crates/a.rs", text), [(1, "Whose"), (3, "whoever"), (3, "Whoever")]);
}

#[test]
fn closures_with_an_argument_named_it_are_found() {
    for code in ["a.map(|it| it.b)", "a.map(|&it| it)", "a.any(|(at, it)| at)", "f(|it: &A| 1)"] {
        assert_eq!(words("crates/a.rs", code), [(1, "|it|")], "{code}");
    }
    assert_eq!(words("crates/a.rs", "let a = b || it || c;"), []);
}

#[test]
fn plain_words_are_not_found() {
    let text = "fn guard_line(waiting: WatchedProcess) -> Batch { lookup(\"// who\") } // Within a second.\n";
    assert_eq!(words("crates/a.rs", text), []);
    assert_eq!(words("migrations/a.sql", "-- Whose.\n"), [(1, "Whose")]);
    assert_eq!(words("CHANGELOG.md", "Whose.\n"), []);
}
