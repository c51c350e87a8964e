//! The admin API: rights, changes and their audit log.
//!
//! [`router`] serves it and [`openapi`] describes it; both come from the same list of routes, so they cannot differ.
//! A handler reads: extract → parse → one transaction → after commit, signal → answer. This crate contains no SQL. It uses
//! Redis only for the signal, the budgets of sign-in attempts, and inspections and resets of counters.
//!
//! Suggested reading order is the order of the modules below.

mod openapi;
mod parameters;
mod routes;
mod simulate;
mod state;

mod alerts;
mod api_keys;
mod apply;
mod assignments;
mod audit;
mod ceilings;
mod health;
mod invitations;
mod me;
mod members;
mod meters;
mod metrics;
mod operator;
mod overrides;
mod plans;
mod profiles;
mod replicas;
mod rule_service;
mod rules;
mod search;
mod sessions;
mod stats;
mod subjects;
mod tenants;
mod tester;
mod webhooks;

mod actor;
mod after_answer;
mod alerting;
mod answers;
mod change;
mod csv;
mod customers;
mod days;
mod deferred;
mod error;
mod etag;
mod experiment;
mod housekeeping;
mod input;
mod listing;

mod login_throttle;
mod macs;
mod mails;
mod names;
mod namespaces;
mod network;
mod passwords;
mod quota_readings;
mod refresh;
mod sealing;
mod second_factor;
mod specs;
mod tenant_limiter;
mod tokens;
mod usage;
mod view_keys;
mod views;

pub use alerting::{deliver, watch};
pub use housekeeping::{keep_statistics, run_housekeeping};
pub use invitations::revoke_own::revoke_own as revoke_own_invitations;
pub use login_throttle::LoginThrottle;
pub use macs::Macs;
pub use mails::reset_link;
pub use openapi::{openapi, router};
pub use passwords::{Busy, Passwords, RefusedPassword};
pub use quota_readings::read_quotas;
pub use sealing::{region_keys, sealing, sealing_keys};
pub use sessions::{reset_digest, signup_digest};
pub use state::{
    AUDIT_DAYS, Authentication, ControlParts, ControlSettings, ControlState, MailParts,
    ProviderParts, Random, Signup, WebhookParts,
};
pub use tokens::{AccessTokens, SigningKey, UnusableKey};
pub use usage::keep_usage;
pub use view_keys::ViewKeys;

#[cfg(test)]
mod tests;
