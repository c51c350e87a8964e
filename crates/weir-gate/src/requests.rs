//! The requests that a gate answers: one module for each group of operations, and what they share. In reading order: who asks,
//! the operations, what they read and answer, and the routes.

pub(crate) mod caller;

pub(crate) mod authorize;
pub(crate) mod check;
pub(crate) mod deferred;
pub(crate) mod exhaust;
pub(crate) mod renewals;
pub(crate) mod reservations;
pub(crate) mod rls;
pub(crate) mod usage;

pub(crate) mod answer;
pub(crate) mod authorize_error;
pub(crate) mod bytes;
pub(crate) mod headers;
pub(crate) mod lease_text;
pub(crate) mod problems;
pub(crate) mod refusals;
pub(crate) mod reservation_text;
pub(crate) mod run_to_completion;

pub(crate) mod health;
pub(crate) mod openapi;
