//! The input of a limit: the parameters of all algorithms, of which the form shows those of the chosen one.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use weir_domain::algorithm::Input;
use weir_wire::limits::{AlgorithmName, LimitBody};
use weir_wire::problem::FieldProblem;
use weir_wire::time::DateTime;
use weir_wire::words::Period;

use super::NOT_WHOLE;
use crate::model::duration::{DurationInput, Unit};
use crate::model::json;
use crate::model::number::parse;

/// The reason for an end that is not written as the API writes times.
const NO_TIME: &str = "must be a time like 2026-12-31T00:00:00Z";

/// The input of a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitRow {
    /// Identifies the row on the page, independent of its position.
    pub row: u32,
    /// The row of the variant that has the limit; 0 for a limit of all subjects.
    #[serde(default)]
    pub variant: u32,
    pub algorithm: AlgorithmName,
    /// The limit or the capacity.
    pub units: String,
    /// The window or the interval.
    pub window: DurationInput,
    pub count_denied: bool,
    /// Tokens refilled or units drained per `every`.
    pub rate: String,
    pub every: DurationInput,
    pub period: Period,
    pub time_zone: String,
    pub anchor_day: String,
    /// The end of a quota that never renews, as the API writes it; empty for none.
    #[serde(default)]
    pub ends_at: String,
}

impl LimitRow {
    pub(super) fn new(row: u32) -> Self {
        Self {
            row,
            variant: 0,
            algorithm: AlgorithmName::SlidingWindowLog,
            units: "100".to_owned(),
            window: DurationInput { number: "1".to_owned(), unit: Unit::Minutes },
            count_denied: false,
            rate: "10".to_owned(),
            every: DurationInput { number: "1".to_owned(), unit: Unit::Seconds },
            period: Period::Month,
            time_zone: "UTC".to_owned(),
            anchor_day: "1".to_owned(),
            ends_at: String::new(),
        }
    }

    pub(super) fn of(row: u32, limit: &LimitBody) -> Self {
        let mut new = Self::new(row);
        new.algorithm = limit.algorithm();
        let body = serde_json::to_value(limit).unwrap_or_default();
        for parameter in new.algorithm.kind().parameters() {
            new.set(parameter.input, &body[parameter.name]);
        }
        new
    }

    fn set(&mut self, input: Input, value: &Value) {
        let number = value.as_u64().unwrap_or(1);
        match input {
            Input::Units => self.units = number.to_string(),
            Input::Window => self.window = DurationInput::of_ms(number),
            Input::Rate => self.rate = number.to_string(),
            Input::Every => self.every = DurationInput::of_ms(number),
            Input::CountDenied => self.count_denied = value.as_bool().unwrap_or(false),
            Input::Period => {
                self.period = json::read_value(value).unwrap_or(self.period);
            }
            Input::TimeZone => value.as_str().unwrap_or_default().clone_into(&mut self.time_zone),
            Input::AnchorDay => self.anchor_day = number.to_string(),
            Input::EndsAt => value.as_str().unwrap_or_default().clone_into(&mut self.ends_at),
        }
    }

    /// The limit. A number that cannot be parsed counts as 1 and is a problem below `path`.
    pub(super) fn read(&self, path: &str, wrong: &mut Vec<FieldProblem>) -> LimitBody {
        let mut body = json!({ "algorithm": self.algorithm });
        for parameter in self.algorithm.kind().parameters() {
            body[parameter.name] = self.value(parameter.input).unwrap_or_else(|| {
                let (reason, stand_in) = match parameter.input {
                    Input::EndsAt => (NO_TIME, Value::Null),
                    _ => (NOT_WHOLE, json!(1)),
                };
                wrong.push(FieldProblem::new(format!("{path}.{}", parameter.name), reason));
                stand_in
            });
        }
        json::read_value(&body).expect("it has all parameters of the algorithm")
    }

    /// The JSON of an input; `None`: it is no whole number, or no time.
    fn value(&self, input: Input) -> Option<Value> {
        Some(match input {
            Input::Units => json!(parse(&self.units)?),
            Input::Window => json!(self.window.ms()?),
            Input::Rate => json!(parse(&self.rate)?),
            Input::Every => json!(self.every.ms()?),
            Input::CountDenied => json!(self.count_denied),
            Input::Period => json!(self.period),
            Input::TimeZone => json!(self.time_zone.trim()),
            Input::AnchorDay if self.period == Period::None => json!(1),
            Input::EndsAt if self.period != Period::None || self.ends_at.trim().is_empty() => {
                Value::Null
            }
            Input::EndsAt => json!(json::read_value::<DateTime>(&json!(self.ends_at.trim())).ok()?),
            Input::AnchorDay => json!(u16::try_from(parse(&self.anchor_day)?).ok()?),
        })
    }
}
