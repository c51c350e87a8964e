//! What the pages know without a browser: words for rules and times, and forms. Ordinary Rust with ordinary tests.

pub mod age;
pub mod alert_words;
pub mod audit;
pub mod changes;
pub mod csv;
pub mod difference;
pub mod duration;
pub mod effect;
pub mod events;
pub mod expiry;
pub mod number;
pub mod override_table;
pub mod override_words;
pub mod palette;
pub mod picture;
pub mod request_link;
pub mod rollout;
pub mod rule_form;
pub mod rule_list;
pub mod snippet;
pub mod span;
pub mod subject;
pub mod template;
pub mod what_if;
pub mod window;
pub mod words;
