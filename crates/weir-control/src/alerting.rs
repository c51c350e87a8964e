//! Evaluates alerts, and delivers their messages.
//!
//! `watch` evaluates alerts and writes messages to the outbox, in the transaction that records that they were announced.
//! `deliver` sends the messages. `backtest` evaluates a condition over the stored statistics, with the same code.
//! Several control planes can run `watch` and `deliver` at once, because each takes different rows.

mod backtest;
mod delivering;
mod denial_share;
mod finding;
mod message;
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
