//! The admin API in process, through the real router, with a database of its own for each test.

mod support;

mod documents;
mod isolation;
mod keys;
mod members;
mod overrides;
mod rules;
mod sessions;
mod simulate;
mod stats;
mod tenants;
mod tester;
