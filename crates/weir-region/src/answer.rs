//! The answer to a check in JSON.

use serde::{Deserialize, Serialize};
use weir_domain::decide::Decision;
use weir_domain::reservation::Settlement;
use weir_domain::time::Micros;
use weir_redis::error::RedisError;
use weir_redis::limiter::{Answer, FirstAnswer, WindowUnits};

/// The answer to one check, or to other work.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerMessage {
    Decided(u64, Vec<DecisionMessage>),
    Settled(u64, Option<(Option<u64>, String)>, Vec<DecisionMessage>, SettlementMessage),
    NotOpen,
    Repeated(u64, (Option<u64>, String), Vec<DecisionMessage>),
    KeyReused,
    Unreadable(String),
    /// The window of the returned units is over.
    WindowOver,
    /// The number of counters that were reset.
    Reset(u64),
    /// The stored units of a window: the times at which they were read and last taken, and their number.
    Units(Option<(u64, u64, u64)>),
    /// The version was announced.
    Announced,
    /// Nothing was decided. `possibly_run` is whether Redis possibly ran the check.
    Failed {
        possibly_run: bool,
    },
}

/// A decision: allowed, remaining, reset, retry, delay and whether units were returned.
#[derive(Debug, Serialize, Deserialize)]
pub struct DecisionMessage(bool, u64, u64, Option<u64>, u64, bool);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettlementMessage {
    Held(u64, u64),
    Released(u64, u64),
    Leased(u64),
}

const OTHER_WORK: RedisError = RedisError::BadReply("an answer to other work");

impl AnswerMessage {
    /// The message of what the limiter returned.
    pub fn new(result: Result<Answer, RedisError>) -> Self {
        let first = |first: FirstAnswer| (first.at.map(|at| at.0), first.text);
        match result {
            Ok(Answer::Decided(at, decisions)) => Self::Decided(at.0, messages(decisions)),
            Ok(Answer::Settled(at, record, decisions, settlement)) => {
                let settlement = SettlementMessage::new(settlement);
                Self::Settled(at.0, record.map(first), messages(decisions), settlement)
            }
            Ok(Answer::NotOpen) => Self::NotOpen,
            Ok(Answer::Repeated(at, record, decisions)) => {
                Self::Repeated(at.0, first(record), messages(decisions))
            }
            Ok(Answer::KeyReused) => Self::KeyReused,
            Ok(Answer::Unreadable(key)) => Self::Unreadable(key),
            Err(RedisError::WindowOver) => Self::WindowOver,
            Err(error) => Self::Failed { possibly_run: !error.was_not_run() },
        }
    }

    /// The same for the caller. A failure is reported as one of Redis.
    pub fn into_result(self) -> Result<Answer, RedisError> {
        let first = |(at, text): (Option<u64>, String)| FirstAnswer { at: at.map(Micros), text };
        Ok(match self {
            Self::Decided(at, decisions) => Answer::Decided(Micros(at), known(decisions)),
            Self::Settled(at, record, decisions, settlement) => {
                let settlement = settlement.known();
                Answer::Settled(Micros(at), record.map(first), known(decisions), settlement)
            }
            Self::NotOpen => Answer::NotOpen,
            Self::Repeated(at, record, decisions) => {
                Answer::Repeated(Micros(at), first(record), known(decisions))
            }
            Self::KeyReused => Answer::KeyReused,
            Self::Unreadable(key) => Answer::Unreadable(key),
            Self::WindowOver => return Err(RedisError::WindowOver),
            Self::Failed { possibly_run: true } => return Err(RedisError::Timeout),
            Self::Failed { possibly_run: false } => return Err(RedisError::Away),
            Self::Reset(_) | Self::Units(_) | Self::Announced => return Err(OTHER_WORK),
        })
    }

    /// The answer to a reset.
    pub fn into_reset(self) -> Result<u64, RedisError> {
        match self {
            Self::Reset(counters) => Ok(counters),
            other => Err(other.into_result().err().unwrap_or(OTHER_WORK)),
        }
    }

    /// The message of the units of a window.
    pub fn of_units(units: Option<WindowUnits>) -> Self {
        Self::Units(units.map(|units| (units.read_at.0, units.taken_at.0, units.taken)))
    }

    /// The answer to a read of windows.
    pub fn into_units(self) -> Result<Option<WindowUnits>, RedisError> {
        let known = |(read_at, taken_at, taken)| WindowUnits {
            read_at: Micros(read_at),
            taken_at: Micros(taken_at),
            taken,
        };
        match self {
            Self::Units(units) => Ok(units.map(known)),
            other => Err(other.into_result().err().unwrap_or(OTHER_WORK)),
        }
    }
}

fn messages(decisions: Vec<Decision>) -> Vec<DecisionMessage> {
    let message = |decision: Decision| {
        let Decision { allowed, remaining, reset_after_ms, .. } = decision;
        let Decision { retry_after_ms, delay_ms, returned, .. } = decision;
        DecisionMessage(allowed, remaining, reset_after_ms, retry_after_ms, delay_ms, returned)
    };
    decisions.into_iter().map(message).collect()
}

fn known(decisions: Vec<DecisionMessage>) -> Vec<Decision> {
    let decision = |message| {
        let DecisionMessage(allowed, remaining, reset_after_ms, retry_after_ms, ..) = message;
        let DecisionMessage(.., delay_ms, returned) = message;
        Decision { allowed, remaining, reset_after_ms, retry_after_ms, delay_ms, returned }
    };
    decisions.into_iter().map(decision).collect()
}

impl SettlementMessage {
    fn new(settlement: Settlement) -> Self {
        match settlement {
            Settlement::Held { units, ends } => Self::Held(units, ends.0),
            Settlement::Released { units, charged } => Self::Released(units, charged),
            Settlement::Leased { at } => Self::Leased(at.0),
        }
    }

    fn known(self) -> Settlement {
        match self {
            Self::Held(units, ends) => Settlement::Held { units, ends: Micros(ends) },
            Self::Released(units, charged) => Settlement::Released { units, charged },
            Self::Leased(at) => Settlement::Leased { at: Micros(at) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through_json(message: &AnswerMessage) -> AnswerMessage {
        let text = serde_json::to_string(message).expect("JSON");
        serde_json::from_str(&text).expect("the same form")
    }

    #[test]
    fn answers_are_the_same_at_the_other_end_and_failures_say_whether_the_check_possibly_ran() {
        let decision = Decision {
            allowed: true,
            remaining: 1 << 40,
            reset_after_ms: 5,
            retry_after_ms: None,
            delay_ms: 7,
            returned: true,
        };
        let first = FirstAnswer { at: Some(Micros(9)), text: "a \"text\"".to_owned() };
        let held = Settlement::Held { units: 2, ends: Micros(3) };
        for answer in [
            Answer::Decided(Micros(1), vec![decision, Decision { allowed: false, ..decision }]),
            Answer::Settled(Micros(1), Some(first.clone()), vec![decision], held),
            Answer::Settled(Micros(1), None, vec![], Settlement::Released { units: 4, charged: 5 }),
            Answer::Settled(Micros(1), None, vec![], Settlement::Leased { at: Micros(6) }),
            Answer::NotOpen,
            Answer::Repeated(Micros(1), first, vec![decision]),
            Answer::KeyReused,
            Answer::Unreadable("key".to_owned()),
        ] {
            let message = through_json(&AnswerMessage::new(Ok(answer.clone())));
            assert_eq!(message.into_result().expect("an answer"), answer);
        }
        for (error, not_run) in [
            (RedisError::Away, true),
            (RedisError::Overloaded, true),
            (RedisError::WindowOver, true),
            (RedisError::Timeout, false),
            (RedisError::BadReply("nonsense"), false),
        ] {
            let message = through_json(&AnswerMessage::new(Err(error)));
            assert_eq!(message.into_result().expect_err("an error").was_not_run(), not_run);
        }
    }
}
