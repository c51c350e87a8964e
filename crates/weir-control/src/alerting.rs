//! Evaluates alerts, and delivers their messages.
//!
//! `watch` evaluates alerts and writes messages to the outbox, in the transaction that records that they were announced.
//! `deliver` sends the messages. Several control planes can run both at once, because each takes different rows.

mod delivering;
mod finding;
mod message;
mod quota;
mod share;
mod watching;

pub use delivering::deliver;
pub(crate) use message::WebhookMessage;
pub use watching::watch;

#[cfg(test)]
pub(crate) use delivering::deliver_due;
#[cfg(test)]
pub(crate) use watching::evaluate_due;
