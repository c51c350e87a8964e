//! The path of a request in one form, however it was spelled.

use std::collections::BTreeSet;

use super::values::{DIGEST_BYTES, decoded, digest, printable};
use crate::names::VALUE_BYTES_MAX;

/// A difference between paths that most applications ignore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathFold {
    /// `/Login` is `/login`.
    Case,
    /// `/login;a=b` is `/login`: matrix parameters, of each segment.
    Parameters,
    /// `/login/` is `/login`.
    TrailingSlash,
}

impl PathFold {
    /// All of them, the default of a profile.
    pub const ALL: [Self; 3] = [Self::Case, Self::Parameters, Self::TrailingSlash];
}

/// The path without the query, decoded once and in its normal form. Bytes that are no text, and control characters, stay
/// encoded.
pub(super) fn of_target(target: &[u8], folds: &BTreeSet<PathFold>) -> String {
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    normal(&decoded(without_authority(path)), folds)
}

/// The attribute of a path in its normal form. A path that is too long keeps its beginning, with the digest of the whole
/// behind it: a client must not escape the rule of a prefix by what it appends.
pub(super) fn attribute(mut text: String) -> String {
    if text.len() > VALUE_BYTES_MAX {
        let digest = digest(text.as_bytes());
        text.truncate(text.floor_char_boundary(VALUE_BYTES_MAX - DIGEST_BYTES));
        text.push_str(&digest);
    }
    text
}

/// The normal form of a path whose percent-encoding was decoded once, as proxies make it before they forward a request: without
/// empty segments and dot segments, and with `/` for `\`. In addition, it has no difference of `folds`.
pub(super) fn normal(decoded: &[u8], folds: &BTreeSet<PathFold>) -> String {
    // `OPTIONS *` names no path.
    if decoded.is_empty() || decoded == b"*" {
        return printable(decoded, false);
    }
    let mut segments: Vec<&[u8]> = Vec::new();
    let mut ends_with_slash = false;
    for segment in decoded.split(|byte| matches!(byte, b'/' | b'\\')) {
        let name = match segment.iter().position(|byte| *byte == b';') {
            Some(end) if folds.contains(&PathFold::Parameters) => &segment[..end],
            _ => segment,
        };
        ends_with_slash = matches!(name, b"" | b"." | b"..");
        match name {
            b"" | b"." => {}
            b".." => drop(segments.pop()),
            _ => segments.push(name),
        }
    }
    let mut path = Vec::with_capacity(decoded.len() + 1);
    for segment in &segments {
        path.push(b'/');
        path.extend_from_slice(segment);
    }
    if segments.is_empty() || ends_with_slash && !folds.contains(&PathFold::TrailingSlash) {
        path.push(b'/');
    }
    printable(&path, folds.contains(&PathFold::Case))
}

/// The path of a target in absolute form (`http://host/path`), or the target itself.
fn without_authority(target: &[u8]) -> &[u8] {
    let scheme = target.windows(3).position(|bytes| bytes == b"://");
    let Some(scheme) = scheme.filter(|&end| target[..end].iter().all(u8::is_ascii_alphanumeric))
    else {
        return target;
    };
    let authority = scheme + 3;
    match target[authority..].iter().position(|byte| *byte == b'/') {
        Some(path) => &target[authority + path..],
        None => b"/",
    }
}
