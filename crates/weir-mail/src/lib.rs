//! E-mail to people, over the SMTP server that the operator names.
//!
//! A [`Mailer`] accepts a [`Mail`] into a bounded queue and never waits. An [`Outbox`] sends the queued messages over a
//! [`Relay`], a few at a time, with a deadline for each attempt and a bounded number of attempts. The queue is in memory:
//! a message that was not sent when the process ends is lost, and its recipient has to ask again. A caller with a
//! queue of its own sends over the [`Relay`] directly.
//!
//! No log and no error contains a password, an address of a recipient or the text of a message.

mod mail;
mod outbox;
mod relay;
mod send_error;

pub use mail::Mail;
pub use outbox::{MailCounts, Mailer, Outbox};
pub use relay::{InvalidRelay, Relay};
pub use send_error::SendError;

#[cfg(test)]
mod tests;
