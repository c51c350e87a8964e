//! The path of a request in one form, however it was spelled.

use std::collections::BTreeSet;

use super::values;

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

/// The normal form of a path whose percent-encoding was decoded once, as proxies make it before they forward a request: without
/// empty segments and dot segments, and with `/` for `\`. In addition, it has no difference of `folds`.
pub(super) fn normal(decoded: &[u8], folds: &BTreeSet<PathFold>) -> String {
    // `OPTIONS *` names no path.
    if decoded.is_empty() || decoded == b"*" {
        return values::printable(decoded, false);
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
    values::printable(&path, folds.contains(&PathFold::Case))
}
