//! Looks whether there is something to tell, and tells it.
//!
//! `watch` looks and puts what is to be told into the outbox, in the transaction that remembers that it was told;
//! `deliver` sends what is in there. Several control planes may do both at once: each takes others.

mod delivering;
mod finding;
mod quota;
mod share;
mod told;
mod watching;

pub use delivering::deliver;
pub(crate) use told::Told;
pub use watching::watch;

#[cfg(test)]
pub(crate) use delivering::deliver_due;
#[cfg(test)]
pub(crate) use watching::look_at_due;
