//! The input of an experiment: variants, each with limits of its own.

use serde::{Deserialize, Serialize};
use weir_domain::rule::VARIANTS_MAX;
use weir_wire::problem::FieldProblem;
use weir_wire::rules::{RuleBody, VariantBody};

use super::{LimitRow, NOT_WHOLE, RuleForm};
use crate::model::number::parse;

/// The input of a variant. Its limits are those of the form that name its row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantRow {
    /// Identifies the row on the page, independent of its position; never 0.
    pub row: u32,
    pub name: String,
    pub percent: String,
}

impl RuleForm {
    /// The input of the variants of an existing rule.
    pub(super) fn take_variants(&mut self, rule: &RuleBody) {
        for variant in &rule.variants {
            let row = self.row();
            for limit in &variant.limits {
                let limit = LimitRow::of(self.row(), limit);
                self.limits.push(LimitRow { variant: row, ..limit });
            }
            let (name, percent) = (variant.name.clone(), variant.percent.to_string());
            self.variants.push(VariantRow { row, name, percent });
        }
    }

    /// Adds a variant with a copy of the first limits; the first time, two. All get the same share.
    pub fn add_variant(&mut self) {
        let first = self.variants.first().map_or(0, |variant| variant.row);
        let copied: Vec<LimitRow> = self.limits_of(first).cloned().collect();
        if self.variants.is_empty() {
            let row = self.push_variant();
            self.limits.iter_mut().for_each(|limit| limit.variant = row);
        }
        let variant = self.push_variant();
        for limit in copied {
            let row = self.row();
            self.limits.push(LimitRow { row, variant, ..limit });
        }
        self.share_evenly();
    }

    /// Removes a variant with its limits. The last one that is left gives its limits to all subjects.
    pub fn remove_variant(&mut self, row: u32) {
        self.variants.retain(|variant| variant.row != row);
        self.limits.retain(|limit| limit.variant != row);
        if let [only] = self.variants.as_slice() {
            let only = only.row;
            self.limits.retain(|limit| limit.variant == only);
            self.limits.iter_mut().for_each(|limit| limit.variant = 0);
            self.variants.clear();
        }
        self.share_evenly();
    }

    /// Whether the rule has the most variants.
    pub fn variants_are_full(&self) -> bool {
        self.variants.len() >= VARIANTS_MAX
    }

    /// The limits of a variant; of all subjects for 0.
    pub fn limits_of(&self, variant: u32) -> impl Iterator<Item = &LimitRow> {
        self.limits.iter().filter(move |limit| limit.variant == variant)
    }

    /// The path of a limit in the rule, and its input.
    pub fn limit_at(&self, row: u32) -> Option<(String, &LimitRow)> {
        let limit = self.limits.iter().find(|limit| limit.row == row)?;
        let at = self.limits_of(limit.variant).position(|other| other.row == row)?;
        let variant = self.variants.iter().position(|variant| variant.row == limit.variant);
        let path = variant.map(|variant| format!("variants[{variant}].")).unwrap_or_default();
        Some((format!("{path}limits[{at}]"), limit))
    }

    pub(super) fn read_variants(&self, wrong: &mut Vec<FieldProblem>) -> Vec<VariantBody> {
        let read = |(at, variant): (usize, &VariantRow)| {
            let path = format!("variants[{at}]");
            let percent =
                parse(variant.percent.trim().trim_end_matches('%')).unwrap_or_else(|| {
                    wrong.push(FieldProblem::new(format!("{path}.percent"), NOT_WHOLE));
                    1
                });
            let limits = self.limits_of(variant.row).enumerate();
            let limits =
                limits.map(|(at, limit)| limit.read(&format!("{path}.limits[{at}]"), wrong));
            VariantBody { name: variant.name.trim().to_owned(), percent, limits: limits.collect() }
        };
        self.variants.iter().enumerate().map(read).collect()
    }

    fn push_variant(&mut self) -> u32 {
        let row = self.row();
        let names = ["a", "b", "c", "d"];
        let is_free = |name: &&&str| !self.variants.iter().any(|variant| variant.name == **name);
        let name = names.iter().find(is_free).copied().unwrap_or_default().to_owned();
        self.variants.push(VariantRow { row, name, percent: String::new() });
        row
    }

    fn share_evenly(&mut self) {
        let count = self.variants.len().max(1);
        for (at, variant) in self.variants.iter_mut().enumerate() {
            variant.percent = (100 / count + usize::from(at < 100 % count)).to_string();
        }
    }
}
