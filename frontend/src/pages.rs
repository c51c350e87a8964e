//! The pages: each fetches the data it shows.

mod accept;
mod alerts;
mod audit;
mod confirm;
mod customer;
mod customer_attribute;
mod customers;
mod deferred;
mod forgot;
mod gates;
mod home;
mod keys;
mod lazy;
mod live;
mod members;
mod namespace_filter;
mod not_found;
mod operator;
mod overrides;
mod overview;
mod plans;
mod proxies;
mod published;
mod replay_summary;
mod reset;
mod revisions;
mod rollout;
mod rule;
mod rule_editor;
mod rule_options;
mod rules;
mod settings;
mod shell;
mod sign_in;
mod sign_up;
mod start;
mod subject_actions;
mod subject_link;
mod subjects;
mod tenants;
mod tester;
mod traffic;
mod usage;
mod what_if;
mod why;

pub use accept::Accept;
pub use home::Home;
pub use lazy::{
    Alerts, Audit, Confirm, CustomerPage, Customers, DeferredJobs, Forgot, Gates, Keys, Live,
    Members, NewRule, Operator, OperatorGates, OperatorRegions, Overrides, Overview, Plans,
    Proxies, Reset, RuleEditor, RulePage, Rules, Settings, Subjects, Tester, Usage, WhatIf, Why,
};
pub use not_found::{NotFound, NotFoundInside};
pub use published::UndoneChanges;
pub use shell::Shell;
pub use sign_in::SignIn;
pub use sign_up::SignUp;
pub use start::Start;
pub use tenants::Tenants;
