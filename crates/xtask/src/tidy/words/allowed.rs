//! Where retired words are permitted.

/// Paths that have to spell retired words out: the lists themselves, and the names that earlier releases had.
pub const PERMITTED: [&str; 2] = ["crates/xtask/src/tidy", "CHANGELOG.md"];

/// The words that a part of the tree still contains, which only become fewer, and those of names that browsers have.
pub const NOT_YET: &[(&str, &[&str])] =
    &[("migrations", &["kept"]), ("frontend/public/weir-usage.js", &["sheet", "sheets"])];
