//! Requests to addresses that tenants chose.
//!
//! A tenant names a URL, and this process sends requests to it, possibly from a private network. Therefore [`Target`] refuses
//! URLs that are visibly not public, and [`Sender`] checks the resolved address and connects to exactly that address.
//! Messages are signed as Standard Webhooks specifies.

mod address;
mod sealing;
mod secret;
mod sender;
mod target;

pub use address::is_public;
pub use sealing::{InvalidSealingKey, Sealing, SealingKey, webhook_owner};
pub use secret::{InvalidSecret, WebhookSecret};
pub use sender::{Attempt, Message, RESPONSE_BYTES_MAX, Sender};
pub use target::{InvalidTarget, Reach, Target};

#[cfg(test)]
mod tests;
