//! The line of a decision.

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use weir_domain::request::{Operation, Request};
use weir_domain::rulebook::ActiveRule;
use weir_wire::check::{AnswerCode, Degraded};
use weir_wire::time::DateTime;

use super::settings::ShownSubjects;
use crate::tally::{DecisionEvent, decisions};

#[derive(Serialize)]
struct ExportedDecision<'a> {
    at: DateTime,
    tenant: String,
    key: String,
    namespace: &'a str,
    operation: &'static str,
    cost: u64,
    allowed: bool,
    rules: Vec<ExportedRule<'a>>,
    degraded: Option<&'static str>,
    code: Option<&'static str>,
    rulebook_version: u64,
    took_us: u64,
}

#[derive(Serialize)]
struct ExportedRule<'a> {
    rule: &'a str,
    allowed: bool,
    shadow: bool,
    subject: Option<Value>,
}

/// The JSON of a decision, without the end of the line.
pub(super) fn of(event: &DecisionEvent<'_>, subjects: ShownSubjects) -> String {
    let request = event.request();
    let answer = event.answer;
    let rules = decisions(event).into_iter().map(|decision| ExportedRule {
        rule: decision.rule.rule.name(),
        allowed: decision.passes,
        shadow: decision.shadow,
        subject: subject(event, decision.rule, decision.request, subjects),
    });
    let exported = ExportedDecision {
        at: event.at.into(),
        tenant: event.tenant.to_string(),
        key: event.key.to_string(),
        namespace: request.namespace(),
        operation: operation(request.operation()),
        cost: request.cost(),
        allowed: answer.allowed,
        rules: rules.collect(),
        degraded: answer.degraded.map(Degraded::as_str),
        code: answer.code.map(AnswerCode::as_str),
        rulebook_version: answer.rulebook_version,
        took_us: u64::try_from(event.took.as_micros()).unwrap_or(u64::MAX),
    };
    serde_json::to_string(&exported).expect("texts and numbers can be written as JSON")
}

/// The attributes by which a rule counts, or their digest. `None` for a rule that counts everything together.
fn subject(
    event: &DecisionEvent<'_>,
    rule: &ActiveRule,
    request: &Request,
    shown: ShownSubjects,
) -> Option<Value> {
    if rule.rule.count_by().is_empty() {
        return None;
    }
    let known = rule.rule.counted_values(|name| request.attribute(name));
    Some(match shown {
        ShownSubjects::Plain => {
            let texts = known.map(|(name, value)| (name.to_owned(), Value::from(value)));
            Value::Object(texts.collect::<Map<_, _>>())
        }
        ShownSubjects::Hashed => {
            let mut hasher = Sha256::new();
            hasher.update(event.tenant.to_u128().to_be_bytes());
            for (name, value) in known {
                for text in [name, &*value] {
                    hasher.update((text.len() as u64).to_be_bytes());
                    hasher.update(text);
                }
            }
            let digest: [u8; 32] = hasher.finalize().into();
            Value::String(hex::encode(&digest[..16]))
        }
    })
}

fn operation(operation: Operation) -> &'static str {
    match operation {
        Operation::Consume => "check",
        Operation::Peek => "peek",
        Operation::Inspect => "inspect",
        Operation::Refund => "refund",
        Operation::Record => "record",
        Operation::Reserve(_) => "reserve",
        Operation::Commit(_) => "commit",
        Operation::Exhaust(_) => "exhaust",
        Operation::Renew(_) => "renew",
        Operation::Release(_) => "release",
    }
}
