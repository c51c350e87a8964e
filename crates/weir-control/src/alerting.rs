//! Evaluates alerts, and delivers their messages.
//!
//! `watch` evaluates alerts and writes messages to the outbox, in the transaction that records that they were announced.
//! `outgoing` writes them in the form of the webhook's kind, and `deliver` sends them. `backtest` evaluates a condition over the
//! stored statistics, with the same code.
//! Several control planes can run `watch` and `deliver` at once, because each takes different rows.

mod attempting;
mod backtest;
mod delivering;
mod denial_share;
mod ending;
mod finding;
mod message;
mod notice;
pub(crate) mod outgoing;
mod quota;
mod share;
mod watching;

pub(crate) use backtest::{Backtest, BacktestTime, backtest};
pub use delivering::deliver;
pub(crate) use denial_share::DenialShare;
pub(crate) use message::WebhookMessage;
pub use watching::watch;

#[cfg(test)]
pub(crate) use delivering::deliver_due;
#[cfg(test)]
pub(crate) use watching::evaluate_due;
