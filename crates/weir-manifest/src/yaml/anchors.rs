//! Anchors, aliases and merge keys in files of other programs.

use std::collections::HashMap;

use saphyr_parser::Tag;

use super::node::{Content, Entry, Misplaced, Node, Position};

/// The key whose value is merged into its map.
pub(super) const MERGE: &str = "<<";
/// The most nodes for which the aliases of a file stand.
const ALIASED_NODES_MAX: usize = 50_000;

/// The nodes with an anchor that have ended, each with its size.
pub(super) struct Anchors {
    nodes: HashMap<usize, (Node, usize)>,
    /// The nodes for which aliases can still stand.
    left: usize,
}

impl Default for Anchors {
    fn default() -> Self {
        Self { nodes: HashMap::new(), left: ALIASED_NODES_MAX }
    }
}

impl Anchors {
    pub(super) fn insert(&mut self, anchor: usize, node: &Node) {
        self.nodes.insert(anchor, (node.clone(), size(node)));
    }

    /// The node for which an alias stands.
    pub(super) fn alias(&mut self, at: Position, anchor: usize) -> Result<Node, Misplaced> {
        let Some((node, size)) = self.nodes.get(&anchor) else {
            return Err(Misplaced::new(at, "the alias stands for a part that contains it"));
        };
        let Some(left) = self.left.checked_sub(*size) else {
            let text =
                format!("the aliases of the file stand for more than {ALIASED_NODES_MAX} values");
            return Err(Misplaced::new(at, text));
        };
        self.left = left;
        Ok(node.clone())
    }
}

/// Refuses an anchor or a tag that the file cannot have. `anchors` is `None` in manifests, which can have neither.
pub(super) fn accept(
    anchors: Option<&Anchors>,
    at: Position,
    anchor: usize,
    tag: Option<&Tag>,
) -> Result<(), Misplaced> {
    let accepted = match tag {
        None => anchor == 0 || anchors.is_some(),
        Some(tag) => is_text(tag) && anchors.is_some(),
    };
    if accepted {
        return Ok(());
    }
    let what = if anchors.is_some() { "this tag is" } else { "anchors and tags are" };
    Err(Misplaced::new(at, format!("{what} not supported")))
}

/// Adds the entries of a map, or of the maps of a list, whose keys are not there yet.
pub(super) fn merge(source: &Node, entries: &mut Vec<Entry>) -> Result<(), Misplaced> {
    if let Content::List(maps) = &source.content {
        return maps.iter().try_for_each(|map| merge(map, entries));
    }
    for entry in source.entries()? {
        if entries.iter().all(|other| other.key != entry.key) {
            entries.push(entry.clone());
        }
    }
    Ok(())
}

/// Whether a tag says that a scalar is a text (`!!str`).
fn is_text(tag: &Tag) -> bool {
    tag.is_yaml_core_schema() && tag.suffix == "str"
}

/// The number of nodes of a part.
fn size(node: &Node) -> usize {
    match &node.content {
        Content::Scalar { .. } => 1,
        Content::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        Content::Map(entries) => {
            1 + entries.iter().map(|entry| 1 + size(&entry.value)).sum::<usize>()
        }
    }
}
