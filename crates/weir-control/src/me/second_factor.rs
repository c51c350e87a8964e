//! The second factor of the signed-in person.

pub(crate) mod begin;
pub(crate) mod confirm;
pub(crate) mod read;
pub(crate) mod recovery_codes;
pub(crate) mod remove;
