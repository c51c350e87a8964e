//! The objects of all files of a set.

use std::collections::HashMap;
use std::fmt;

use weir_domain::alert::watchable;
use weir_domain::{approximation, warnings};
use weir_wire::alerts::AlertKind;
use weir_wire::apply::{
    APPLY_ALERTS_MAX, APPLY_ASSIGNMENTS_MAX, APPLY_OVERRIDES_MAX, APPLY_PLANS_MAX,
    APPLY_PROFILES_MAX, APPLY_RULES_MAX, ApplyAlert, ApplyAssignment, ApplyOverride, ApplyPlan,
    ApplyProfile, ApplyRule, overlaps,
};

use crate::alert_document::{self, AlertDocument};
use crate::assignment_document::AssignmentDocument;
use crate::objects::{Objects, read};
use crate::override_document::OverrideDocument;
use crate::plan_document::{self, PlanDocument};
use crate::profile_document::ProfileDocument;
use crate::rule_document::{RuleDocument, path_in_document};
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

/// The objects of all files, checked as far as is possible without the server.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    rules: Vec<(String, RuleDocument)>,
    profiles: Vec<(String, ProfileDocument)>,
    plans: Vec<(String, PlanDocument)>,
    assignments: Vec<(String, AssignmentDocument)>,
    overrides: Vec<(String, OverrideDocument)>,
    alerts: Vec<(String, AlertDocument)>,
}

impl RuleSet {
    /// Reads the objects of all files, or returns everything that is wrong with them.
    pub fn read(files: &[SourceFile]) -> Result<Self, Vec<Finding>> {
        let mut set = Self::default();
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
                            Ok(objects) => set.add(&file.name, objects),
                            Err(errors) => wrong.extend(errors.into_iter().map(finding)),
                        }
                    }
                }
            }
        }
        wrong.extend(set.duplicates());
        wrong.extend(set.overlaps());
        wrong.extend(set.unfit_for_their_rules());
        wrong.extend(set.beyond_bound());
        if wrong.is_empty() { Ok(set) } else { Err(wrong) }
    }

    fn add(&mut self, file: &str, objects: Objects) {
        match objects {
            Objects::Rule(rule) => self.rules.push((file.to_owned(), *rule)),
            Objects::Profiles(profiles) => {
                let in_file = |profile| (file.to_owned(), profile);
                self.profiles.extend(profiles.into_iter().map(in_file));
            }
            Objects::Plan(plan) => self.plans.push((file.to_owned(), *plan)),
            Objects::Assignments(assignments) => {
                let in_file = |one| (file.to_owned(), one);
                self.assignments.extend(assignments.into_iter().map(in_file));
            }
            Objects::Overrides(overrides) => {
                let in_file = |one| (file.to_owned(), one);
                self.overrides.extend(overrides.into_iter().map(in_file));
            }
            Objects::Alert(alert) => self.alerts.push((file.to_owned(), *alert)),
        }
    }

    /// The rules as the server takes them.
    pub fn rules(&self) -> Vec<ApplyRule> {
        let rules = self.rules.iter().map(|(_, document)| ApplyRule {
            rule: document.body.clone(),
            renamed_from: document.renamed_from.clone(),
        });
        rules.collect()
    }

    /// The profiles as the server takes them.
    pub fn profiles(&self) -> Vec<ApplyProfile> {
        let profiles = self.profiles.iter().map(|(_, document)| ApplyProfile {
            profile: document.body.clone(),
            renamed_from: document.renamed_from.clone(),
        });
        profiles.collect()
    }

    /// The plans as the server takes them.
    pub fn plans(&self) -> Vec<ApplyPlan> {
        let plans = self.plans.iter().map(|(_, document)| ApplyPlan {
            plan: document.body.clone(),
            renamed_from: document.renamed_from.clone(),
        });
        plans.collect()
    }

    /// The assignments as the server takes them.
    pub fn assignments(&self) -> Vec<ApplyAssignment> {
        self.assignments.iter().map(|(_, document)| document.body.clone()).collect()
    }

    /// The overrides as the server takes them.
    pub fn overrides(&self) -> Vec<ApplyOverride> {
        self.overrides.iter().map(|(_, document)| document.body.clone()).collect()
    }

    /// The alerts as the server takes them.
    pub fn alerts(&self) -> Vec<ApplyAlert> {
        self.alerts.iter().map(|(_, document)| document.body.clone()).collect()
    }

    /// Warnings to the authors, such as that of a limit that can never deny.
    pub fn warnings(&self) -> Vec<Finding> {
        let warnings = self.rules.iter().enumerate().flat_map(|(at, (_, document))| {
            let texts = warnings::of_rule(&document.rule).into_iter();
            texts.map(move |text| self.in_rule(at, "name", text))
        });
        let of_profiles = self.profiles.iter().enumerate().flat_map(|(at, (_, document))| {
            let texts = document.body.clone().parse().map(|profile| warnings::of_profile(&profile));
            let texts = texts.unwrap_or_default().into_iter();
            texts.map(move |text| self.in_profile(at, "idempotency", text))
        });
        warnings.chain(of_profiles).collect()
    }

    /// The bounds of approximate rules, as sentences.
    pub fn bounds(&self) -> Vec<Finding> {
        let bounds = self.rules.iter().enumerate().filter_map(|(at, (_, document))| {
            let rule = &document.rule;
            let text = approximation::bound(rule.consistency(), rule.limits())?;
            Some(self.in_rule(at, "consistency", text))
        });
        bounds.collect()
    }

    /// The place of a field of the request, such as `rules[3].rule.limits[0].window_ms`, with the reason of its refusal.
    pub fn locate(&self, field: &str, reason: &str) -> Option<Finding> {
        let (list, rest) = field.split_once('[')?;
        let (at, rest) = rest.split_once(']')?;
        let at: usize = at.parse().ok()?;
        let rest = rest.trim_start_matches('.');
        let inside = |object: &str| {
            let field = rest.strip_prefix(object).map_or(rest, |rest| rest.trim_start_matches('.'));
            let field = if field.is_empty() { "name" } else { field };
            (field.to_owned(), format!("`{field}` {reason}"))
        };
        match list {
            "rules" if at < self.rules.len() => {
                let (field, text) = inside("rule");
                Some(self.in_rule(at, &field, text))
            }
            "profiles" if at < self.profiles.len() => {
                let (field, text) = inside("profile");
                Some(self.in_profile(at, &field, text))
            }
            "plans" if at < self.plans.len() => {
                let (field, text) = inside("plan");
                Some(self.in_plan(at, &field, text))
            }
            "assignments" if at < self.assignments.len() => {
                Some(self.in_assignment(at, rest, format!("`{rest}` {reason}")))
            }
            "overrides" if at < self.overrides.len() => {
                Some(self.in_override(at, rest, format!("`{rest}` {reason}")))
            }
            "alerts" if at < self.alerts.len() => {
                let (field, text) = inside("");
                Some(self.in_alert(at, &field, text))
            }
            _ => None,
        }
    }

    fn in_rule(&self, at: usize, field: &str, text: String) -> Finding {
        let (file, document) = &self.rules[at];
        let at = document.fields.position(&path_in_document(field));
        Finding { file: file.clone(), at, text }
    }

    fn in_profile(&self, at: usize, field: &str, text: String) -> Finding {
        let (file, document) = &self.profiles[at];
        let at = document.fields.position(&document.path(field));
        Finding { file: file.clone(), at, text }
    }

    fn in_plan(&self, at: usize, field: &str, text: String) -> Finding {
        let (file, document) = &self.plans[at];
        let at = document.fields.position(&plan_document::path_in_document(field));
        Finding { file: file.clone(), at, text }
    }

    fn in_assignment(&self, at: usize, field: &str, text: String) -> Finding {
        let (file, document) = &self.assignments[at];
        let at = document.fields.position(&document.path(field));
        Finding { file: file.clone(), at, text }
    }

    fn in_override(&self, at: usize, field: &str, text: String) -> Finding {
        let (file, document) = &self.overrides[at];
        let at = document.fields.position(&document.path(field));
        Finding { file: file.clone(), at, text }
    }

    fn in_alert(&self, at: usize, field: &str, text: String) -> Finding {
        let (file, document) = &self.alerts[at];
        let at = document.fields.position(&alert_document::path_in_document(field));
        Finding { file: file.clone(), at, text }
    }

    /// Overrides that their rule does not permit and alerts about quotas that it does not have, if the rule is in these files. The
    /// server checks the others.
    fn unfit_for_their_rules(&self) -> Vec<Finding> {
        let rules = self.rules.iter().map(|(_, document)| {
            let name = (document.body.namespace.clone(), document.body.name.clone());
            (name, &document.rule)
        });
        let rules: HashMap<_, _> = rules.collect();
        let overrides = self.overrides.iter().enumerate().flat_map(|(at, (_, document))| {
            let body = &document.body;
            let rule = rules.get(&(body.namespace.clone(), body.rule.clone()));
            let parsed = rule.map(|rule| body.body(String::new()).parse(rule));
            let fields = parsed.and_then(Result::err).unwrap_or_default().into_iter();
            fields.map(move |wrong| {
                let text = format!("`{}` {}", wrong.field, wrong.reason);
                self.in_override(at, &wrong.field, text)
            })
        });
        let alerts = self.alerts.iter().enumerate().filter_map(|(at, (_, document))| {
            let of_quotas = document.body.kind == AlertKind::Quota;
            let rule = document.body.rule().filter(|_| of_quotas);
            let reason = watchable(rules.get(&rule?)?).err()?;
            Some(self.in_alert(at, "rule", format!("`rule` {reason}")))
        });
        overrides.chain(alerts).collect()
    }

    /// Objects that are written twice, and domains with two profiles.
    fn duplicates(&self) -> Vec<Finding> {
        let mut first: HashMap<(&str, String), Finding> = HashMap::new();
        let mut wrong = Vec::new();
        let mut add = |kind, name: String, found: Finding| {
            if let Some(first) = first.get(&(kind, name.clone())) {
                let text = format!(
                    "the {kind} `{name}` is also in {}:{}:{}",
                    first.file, first.at.line, first.at.column
                );
                wrong.push(Finding { text, ..found });
            } else {
                first.insert((kind, name), found);
            }
        };
        for (at, (_, document)) in self.rules.iter().enumerate() {
            let name = format!("{}/{}", document.body.namespace, document.body.name);
            add("rule", name, self.in_rule(at, "name", String::new()));
        }
        for (at, (_, document)) in self.profiles.iter().enumerate() {
            let body = &document.body;
            add("profile", body.name.clone(), self.in_profile(at, "name", String::new()));
            if let Some(domain) = &body.domain {
                add("domain", domain.clone(), self.in_profile(at, "domain", String::new()));
            }
        }
        for (at, (_, document)) in self.plans.iter().enumerate() {
            add("plan", document.body.name.clone(), self.in_plan(at, "name", String::new()));
        }
        for (at, (_, document)) in self.overrides.iter().enumerate() {
            let name = format!("{}/{}", document.body.namespace, document.body.name());
            add("override", name, self.in_override(at, "subject", String::new()));
        }
        for (at, (_, document)) in self.alerts.iter().enumerate() {
            add("alert", document.body.name.clone(), self.in_alert(at, "name", String::new()));
        }
        wrong
    }

    /// Assignments of one customer that overlap.
    fn overlaps(&self) -> Vec<Finding> {
        let found = overlaps(&self.assignments()).into_iter().map(|one| {
            let Finding { file, at, .. } = self.in_assignment(one.with, "", String::new());
            let place = format!("{file}:{}:{}", at.line, at.column);
            let text = format!("`{}` overlaps the assignment in {place}", one.field);
            self.in_assignment(one.at, one.field, text)
        });
        found.collect()
    }

    fn beyond_bound(&self) -> Vec<Finding> {
        let over = |kind, count: usize, most| {
            (count > most).then(|| format!("the set has {count} {kind}; {most} is the most"))
        };
        let rules = over("rules", self.rules.len(), APPLY_RULES_MAX);
        let rules = rules.map(|text| self.in_rule(APPLY_RULES_MAX, "name", text));
        let profiles = over("profiles", self.profiles.len(), APPLY_PROFILES_MAX);
        let profiles = profiles.map(|text| self.in_profile(APPLY_PROFILES_MAX, "name", text));
        let plans = over("plans", self.plans.len(), APPLY_PLANS_MAX);
        let plans = plans.map(|text| self.in_plan(APPLY_PLANS_MAX, "name", text));
        let assignments = over("assignments", self.assignments.len(), APPLY_ASSIGNMENTS_MAX);
        let assignments =
            assignments.map(|text| self.in_assignment(APPLY_ASSIGNMENTS_MAX, "customer", text));
        let overrides = over("overrides", self.overrides.len(), APPLY_OVERRIDES_MAX);
        let overrides =
            overrides.map(|text| self.in_override(APPLY_OVERRIDES_MAX, "subject", text));
        let alerts = over("alerts", self.alerts.len(), APPLY_ALERTS_MAX);
        let alerts = alerts.map(|text| self.in_alert(APPLY_ALERTS_MAX, "name", text));
        let all = rules.into_iter().chain(profiles).chain(plans).chain(assignments);
        all.chain(overrides).chain(alerts).collect()
    }
}

#[cfg(test)]
mod tests;
