//! Evaluates alerts, and delivers their messages.
//!
//! `watch` evaluates alerts and puts messages into the outbox, in the transaction that records that they were announced.
//! `deliver` sends the outbox. Several control planes can do both at once: each takes other rows.

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
