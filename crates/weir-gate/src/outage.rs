//! A Redis that is away, evicts counters, or holds values of a wrong type.

pub(crate) mod charge_buffer;
pub(crate) mod charge_sender;
pub(crate) mod eviction;
pub(crate) mod local;
pub(crate) mod unreadable;
