//! Requests to addresses that tenants chose.
//!
//! A tenant names a URL and this process, which may stand in a private network, sends there. So
//! [`Target`] refuses what is not public as it is typed, and [`Sender`] looks again at the address that
//! was resolved, which then is the one it connects to. Messages are signed as Standard Webhooks has it.

mod address;
mod secret;
mod sender;
mod target;

pub use address::is_public;
pub use secret::{InvalidSecret, WebhookSecret};
pub use sender::{Attempt, Message, RESPONSE_BYTES_MAX, Sender};
pub use target::{InvalidTarget, Reach, Target};

#[cfg(test)]
mod tests;
