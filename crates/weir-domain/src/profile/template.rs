//! Templates of paths, such as `/users/{id}/*`: a segment in braces stands for any one segment, and `*` at the end for all others.

use std::collections::BTreeSet;

use super::path::{self, PathFold};
use crate::names::{self, VALUE_BYTES_MAX};

/// The reason why a text is no template of paths in their normal form.
pub(super) fn wrong(template: &str, folds: &BTreeSet<PathFold>) -> Option<String> {
    let Some(segments) = template.strip_prefix('/').filter(|_| template.len() <= VALUE_BYTES_MAX)
    else {
        return Some(format!("must begin with `/` and have at most {VALUE_BYTES_MAX} bytes"));
    };
    let mut named = BTreeSet::new();
    let last = segments.split('/').count() - 1;
    for (at, segment) in segments.split('/').enumerate() {
        if let Some(name) = name_of(segment) {
            if let Err(reason) = names::attribute(name) {
                return Some(format!("the name in `{}` {reason}", segment.escape_debug()));
            }
            if !named.insert(name) {
                return Some(format!("must have `{segment}` once"));
            }
        } else if segment.contains(['{', '}'])
            || segment.contains('*') && (segment, at) != ("*", last)
        {
            let shown = segment.escape_debug();
            return Some(format!(
                "must name whole segments, with `*` only at the end, not `{shown}`"
            ));
        }
    }
    let normal = path::normal(template.as_bytes(), folds);
    (normal != template).then(|| format!("must be written as paths are counted: `{normal}`"))
}

/// The names of the segments.
pub(super) fn names(template: &str) -> impl Iterator<Item = &str> {
    template.split('/').filter_map(name_of)
}

/// The segments of a path that a template names, in their order. `None` if the path does not match.
pub(super) fn matched<'a>(template: &'a str, path: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let mut found = Vec::new();
    let mut segments = path.split('/');
    for part in template.split('/') {
        let segment = segments.next()?;
        match name_of(part) {
            None if part == "*" => return Some(found),
            None if part == segment => {}
            Some(name) if !segment.is_empty() => found.push((name, segment)),
            _ => return None,
        }
    }
    segments.next().is_none().then_some(found)
}

fn name_of(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}
