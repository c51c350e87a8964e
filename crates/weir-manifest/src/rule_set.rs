//! The rules of all files of a set.

use std::collections::HashMap;
use std::fmt;

use weir_domain::{approximation, warnings};
use weir_wire::apply::{APPLY_RULES_MAX, ApplyRule};

use crate::document::{RuleDocument, path_in_document, read};
use crate::yaml::{Misplaced, Position, documents};

/// A file with manifests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The path, as people read it.
    pub name: String,
    /// The content.
    pub text: String,
}

/// An error or a warning, with file, line and column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The path of the file.
    pub file: String,
    /// The place in the file.
    pub at: Position,
    /// The error or warning.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.at.line, self.at.column, self.text)
    }
}

/// The rules of all files, checked as far as is possible without the server.
#[derive(Debug, Clone)]
pub struct RuleSet {
    rules: Vec<(String, RuleDocument)>,
}

impl RuleSet {
    /// Reads the rules of all files, or returns everything that is wrong with them.
    pub fn read(files: &[SourceFile]) -> Result<Self, Vec<Finding>> {
        let mut rules: Vec<(String, RuleDocument)> = Vec::new();
        let mut wrong = Vec::new();
        for file in files {
            let finding = |error: Misplaced| Finding {
                file: file.name.clone(),
                at: error.at,
                text: error.text,
            };
            match documents(&file.text) {
                Err(error) => wrong.push(finding(error)),
                Ok(nodes) => {
                    for node in &nodes {
                        match read(node) {
                            Ok(rule) => rules.push((file.name.clone(), rule)),
                            Err(errors) => wrong.extend(errors.into_iter().map(finding)),
                        }
                    }
                }
            }
        }
        let set = Self { rules };
        wrong.extend(set.duplicates());
        wrong.extend(set.beyond_bound());
        if wrong.is_empty() { Ok(set) } else { Err(wrong) }
    }

    /// The rules as the server takes them.
    pub fn rules(&self) -> Vec<ApplyRule> {
        let rules = self.rules.iter().map(|(_, document)| ApplyRule {
            rule: document.body.clone(),
            renamed_from: document.renamed_from.clone(),
        });
        rules.collect()
    }

    /// Warnings to the authors, such as that of a limit that can never deny.
    pub fn warnings(&self) -> Vec<Finding> {
        let warnings = self.rules.iter().enumerate().flat_map(|(at, (_, document))| {
            let texts = warnings::of_rule(&document.rule).into_iter();
            texts.map(move |text| self.finding(at, "name", text))
        });
        warnings.collect()
    }

    /// The bounds of approximate rules, as sentences.
    pub fn bounds(&self) -> Vec<Finding> {
        let bounds = self.rules.iter().enumerate().filter_map(|(at, (_, document))| {
            let rule = &document.rule;
            let text = approximation::bound(rule.consistency(), rule.limits())?;
            Some(self.finding(at, "consistency", text))
        });
        bounds.collect()
    }

    /// The place of a field of the request, such as `rules[3].rule.limits[0].window_ms`, with the reason of its refusal.
    pub fn locate(&self, field: &str, reason: &str) -> Option<Finding> {
        let (at, rest) = field.strip_prefix("rules[")?.split_once(']')?;
        let at: usize = at.parse().ok().filter(|at| *at < self.rules.len())?;
        let rest = rest.trim_start_matches('.');
        let field = rest.strip_prefix("rule.").unwrap_or(rest);
        let field = if field == "rule" || field.is_empty() { "name" } else { field };
        Some(self.finding(at, field, format!("`{field}` {reason}")))
    }

    fn finding(&self, at: usize, field: &str, text: String) -> Finding {
        let (file, document) = &self.rules[at];
        let at = document.fields.position(&path_in_document(field));
        Finding { file: file.clone(), at, text }
    }

    fn duplicates(&self) -> Vec<Finding> {
        let mut first: HashMap<(&str, &str), usize> = HashMap::new();
        let mut wrong = Vec::new();
        for (at, (_, document)) in self.rules.iter().enumerate() {
            let body = &document.body;
            if let Some(first) = first.get(&(body.namespace.as_str(), body.name.as_str())) {
                let (namespace, name) = (&body.namespace, &body.name);
                let Finding { file, at: place, .. } = self.finding(*first, "name", String::new());
                let first = format!("{file}:{}:{}", place.line, place.column);
                let text = format!("the rule `{namespace}/{name}` is also in {first}");
                wrong.push(self.finding(at, "name", text));
            } else {
                first.insert((&body.namespace, &body.name), at);
            }
        }
        wrong
    }

    fn beyond_bound(&self) -> Option<Finding> {
        let count = self.rules.len();
        (count > APPLY_RULES_MAX).then(|| {
            let text = format!("the set has {count} rules; {APPLY_RULES_MAX} is the most");
            self.finding(APPLY_RULES_MAX, "name", text)
        })
    }
}

#[cfg(test)]
mod tests;
