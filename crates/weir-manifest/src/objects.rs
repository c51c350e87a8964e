//! The objects of a document, whose kind decides how it is read.

use crate::alert_document::{self, AlertDocument};
use crate::assignment_document::{self, AssignmentDocument};
use crate::document::{
    ALERT, API_VERSION, ASSIGNMENTS, Document, ENVOY_DOMAINS, GATEWAY, Head, OVERRIDES, PLAN, RULE,
    parse,
};
use crate::fields::Fields;
use crate::override_document::{self, OverrideDocument};
use crate::plan_document::{self, PlanDocument};
use crate::profile_document::{self, ProfileDocument};
use crate::rule_document::{self, RuleDocument};
use crate::yaml::{Misplaced, Node};

/// The objects of a document.
#[derive(Debug, Clone)]
pub(crate) enum Objects {
    Rule(Box<RuleDocument>),
    Profiles(Vec<ProfileDocument>),
    Plan(Box<PlanDocument>),
    Assignments(Vec<AssignmentDocument>),
    Overrides(Vec<OverrideDocument>),
    Alert(Box<AlertDocument>),
}

/// Reads the objects of a document, or returns everything that is wrong with them.
pub(crate) fn read(node: &Node) -> Result<Objects, Vec<Misplaced>> {
    let one = |error| vec![error];
    let (value, fields) = Fields::of(node);
    // Anything else can be a file with secrets, so nothing of it is repeated.
    match value.get("apiVersion").map(|version| version == API_VERSION) {
        Some(true) => {}
        Some(false) => {
            let text = format!("`apiVersion` must be `{API_VERSION}`");
            return Err(one(Misplaced::new(fields.position("apiVersion"), text)));
        }
        None => {
            let text = format!("is no manifest, which is a map with `apiVersion: {API_VERSION}`");
            return Err(one(Misplaced::new(node.at, text)));
        }
    }
    let Head { kind, metadata, spec, .. } = parse(value, &fields, str::to_owned).map_err(one)?;
    let document = Document { metadata, spec, fields };
    match kind.as_str() {
        RULE => rule_document::read(document).map(|rule| Objects::Rule(Box::new(rule))),
        GATEWAY => profile_document::gateway(document).map(|one| Objects::Profiles(vec![one])),
        ENVOY_DOMAINS => profile_document::domains(document).map(Objects::Profiles),
        PLAN => plan_document::read(document).map(|plan| Objects::Plan(Box::new(plan))),
        ASSIGNMENTS => assignment_document::read(document).map(Objects::Assignments),
        OVERRIDES => override_document::read(document).map(Objects::Overrides),
        ALERT => alert_document::read(document).map(|alert| Objects::Alert(Box::new(alert))),
        _ => {
            let text = format!(
                "`kind` must be `{RULE}`, `{GATEWAY}`, `{ENVOY_DOMAINS}`, `{PLAN}`, `{ASSIGNMENTS}`, `{OVERRIDES}` or `{ALERT}`"
            );
            Err(one(Misplaced::new(document.fields.position("kind"), text)))
        }
    }
}
