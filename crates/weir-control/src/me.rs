//! The signed-in person.

pub(crate) mod password;
pub(crate) mod read;
pub(crate) mod rename;
pub(crate) mod second_factor;
pub(crate) mod sessions;
