//! The admin API in process, through the real router, with a database of its own for each test.

mod support;

mod alerts;
mod announcements;
mod audit;
mod bounds;
mod documents;
mod isolation;
mod keys;
mod members;
mod overrides;
mod parameters;
mod receiver;
mod rules;
mod sessions;
mod simulate;
mod stats;
mod tenants;
mod tester;
mod webhooks;
