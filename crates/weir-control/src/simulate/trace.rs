//! Traces: checks in CSV or in JSON lines. An error is reported with its line and column.

use std::collections::BTreeMap;

use serde_json::Value;
use weir_domain::request::Operation;
use weir_http::problem::Problem;
use weir_wire::simulate::{CHECKS_MAX, TRACE_BYTES_MAX, TraceBody, TraceFormat};

use self::line::{TraceError, TracedCheck, attribute, cost, time};
use super::traffic::{ReplayedCheck, Traffic};

mod csv;
mod line;

/// Reads a trace, or reports the first error.
pub(super) fn read(body: &TraceBody, namespace: &str) -> Result<Traffic, Problem> {
    let refused = |reason: String| Problem::invalid_field("trace.text", reason);
    if body.text.len() > TRACE_BYTES_MAX {
        return Err(refused("must be at most 10 MiB".to_owned()));
    }
    let said = |wrong: TraceError| {
        refused(format!("line {}, column {}: {}", wrong.line, wrong.column, wrong.reason))
    };
    let traffic = parse(body, namespace).map_err(said)?;
    if traffic.asked.is_empty() {
        return Err(refused("holds no check".to_owned()));
    }
    Ok(traffic)
}

fn parse(body: &TraceBody, namespace: &str) -> Result<Traffic, TraceError> {
    let mut traffic = Traffic::new(namespace);
    let mut lines = (1..).zip(body.text.strip_prefix('\u{feff}').unwrap_or(&body.text).lines());
    let head = match body.format {
        TraceFormat::Csv => match lines.find(|(_, text)| !text.trim().is_empty()) {
            Some((line, text)) => Some(csv::Head::parse(line, text)?),
            None => return Ok(traffic),
        },
        TraceFormat::JsonLines => None,
    };
    for (line, text) in lines.filter(|(_, text)| !text.trim().is_empty()) {
        if traffic.asked.len() >= CHECKS_MAX {
            return Err(TraceError::at(line, 1, format!("must have at most {CHECKS_MAX} checks")));
        }
        let read = match &head {
            Some(head) => head.line(line, text)?,
            None => json(line, text)?,
        };
        let place = traffic.request(read.attributes).map_err(|wrong| {
            let each: Vec<_> = wrong
                .iter()
                .map(|problem| format!("`{}` {}", problem.field, problem.reason))
                .collect();
            TraceError::at(line, 1, each.join("; "))
        })?;
        let at = read.at;
        let cost = read.cost;
        let operation = Operation::Consume;
        traffic.asked.push(ReplayedCheck { at, request: place, cost, operation });
    }
    traffic.sort();
    Ok(traffic)
}

fn json(line: usize, text: &str) -> Result<TracedCheck, TraceError> {
    let read: Value = serde_json::from_str(text).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default();
        TraceError::at(line, error.column().max(1), format!("this is not JSON: {reason}"))
    })?;
    let wrong = |name: &str, reason: String| {
        let byte = text.find(&format!("\"{name}\"")).unwrap_or(0);
        TraceError::at(line, text[..byte].chars().count() + 1, reason)
    };
    let Value::Object(fields) = read else {
        return Err(TraceError::at(line, 1, "must be an object"));
    };
    let known = ["time", "attributes", "cost"];
    if let Some(other) = fields.keys().find(|name| !known.contains(&name.as_str())) {
        let reason = format!("there is no `{other}`: use `time`, `attributes` and `cost`");
        return Err(wrong(other, reason));
    }
    let plain = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let at = fields.get("time").and_then(plain).ok_or("`time` is missing".to_owned());
    let at = at.and_then(|text| time(&text)).map_err(|reason| wrong("time", reason))?;
    let cost = fields.get("cost").map_or(Ok(1), |value| cost(&plain(value).unwrap_or_default()));
    let cost = cost.map_err(|reason| wrong("cost", reason))?;
    let attributes = match fields.get("attributes") {
        None => Ok(BTreeMap::new()),
        Some(Value::Object(all)) => all
            .iter()
            .map(|(name, value)| match value.as_str() {
                Some(value) => attribute(name, value).map(|()| (name.clone(), value.to_owned())),
                None => Err(format!("`{name}` must be a text")),
            })
            .collect(),
        Some(_) => Err("`attributes` must be an object".to_owned()),
    };
    let attributes = attributes.map_err(|reason| wrong("attributes", reason))?;
    Ok(TracedCheck { at, cost, attributes })
}

#[cfg(test)]
mod tests;
