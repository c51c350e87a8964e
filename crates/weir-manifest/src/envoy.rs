//! The files of Envoy's rate limit service (before: Lyft's), as rules that decide the same.
//!
//! A path of descriptors becomes one rule. The attribute `descriptor`, which holds the keys of a descriptor in their order,
//! makes the depth exact. In the original, the most specific value of a key wins, so the rule of a key without a value
//! excludes the values beside it.

use weir_wire::profiles::ProfileBody;
use weir_wire::rules::RuleBody;

use crate::rule_set::{Finding, SourceFile};
use crate::yaml::{Misplaced, documents_with_aliases};

mod config_map;
mod descriptors;
mod file;
mod rule;

/// The rules of a file, and what could not be converted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Import {
    /// The rules.
    pub rules: Vec<RuleBody>,
    /// The profiles of domains whose names no namespace can have.
    pub domains: Vec<ProfileBody>,
    /// The parts that were left out, with the reason.
    pub left_out: Vec<Finding>,
    /// The settings that were ignored.
    pub ignored: Vec<Finding>,
}

/// Converts a file, or returns its first error. Limits that no rule can express are left out. Settings without a counterpart are
/// ignored if the import is `lossy`; otherwise, their limits are left out too.
///
/// A `ConfigMap` of Kubernetes holds files; errors have their places in the `ConfigMap`.
pub fn import(source: &SourceFile, lossy: bool) -> Result<Import, Finding> {
    let finding =
        |error: Misplaced| Finding { file: source.name.clone(), at: error.at, text: error.text };
    let mut import = Import::default();
    for document in documents_with_aliases(&source.text).map_err(finding)? {
        for part in config_map::parts(&document, &source.text).map_err(finding)? {
            let finding = |error| finding(part.placed(error));
            let file = file::read(&part.document).map_err(finding)?;
            let mut converter = descriptors::Converter::new(&file, lossy);
            converter.convert(&file.descriptors);
            import.domains.extend(rule::domain(&file.domain));
            import.rules.extend(converter.rules);
            import.left_out.extend(converter.left_out.into_iter().map(finding));
            let ignored = file.ignored.into_iter().chain(converter.ignored);
            import.ignored.extend(ignored.map(finding));
        }
    }
    Ok(import)
}

#[cfg(test)]
mod tests;
