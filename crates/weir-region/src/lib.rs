//! Calls between regions.
//!
//! The counters of a rule with `reach: "world"` are in the Redis of the home region. Gates of other regions ask a gate of the
//! home, which decides with its own rulebook and its own Redis. Redis is never exposed between regions.
//!
//! - `key` signs calls and verifies them. Neither an API key nor a session can make a call.
//! - `seen` recognises a call that arrives a second time.
//! - `message` is a call in JSON: checks as a gate sends them to its limiter, with names instead of limits. `operation` and `answer` are
//!   parts of it, and `bits` writes numbers of 128 bits.
//! - `link` sends checks to the gates of a region: all that wait in one call, several calls in flight. `links` are those of a control
//!   plane to all regions.

mod answer;
mod bits;
mod key;
mod link;
mod links;
mod message;
mod operation;
mod seen;

pub use answer::AnswerMessage;
pub use bits::Bits;
pub use key::{InvalidRegionKey, RegionKey, RegionKeys};
pub use link::{Link, LinkSettings};
pub use links::{RegionLink, RegionLinks};
pub use message::{
    CALL_BYTES_MAX, CHECKS_PER_CALL_MAX, Call, CallAnswer, CheckMessage, CounterMessage,
    IdempotencyMessage, KnownCheck, Unknown, Work,
};
pub use seen::SeenCalls;

/// The path of calls on the internal listener of a gate.
pub const PATH: &str = "/region/calls";
/// The header with the signature of a call's body.
pub const SIGNATURE_HEADER: &str = "weir-region-signature";
