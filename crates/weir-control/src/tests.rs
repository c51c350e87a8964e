//! The admin API in the test process, through the real router, with a database for each test.

mod accounts;
mod alerts;
mod announcements;
mod audit;
mod bounds;
mod ceilings;
mod documents;
mod isolation;
mod keys;
mod login_throttle;
mod members;
mod overrides;
mod parameters;
mod receiver;
mod rules;
mod sessions;
mod signups;
mod simulate;
mod stats;
mod support;
mod tenants;
mod tester;
mod usage;
mod webhooks;
