//! The domain of Weir: rules, limits, subjects, charges, counters, decisions.
//!
//! The crate is pure: it has no I/O, no async, no serde, no clock and no randomness of its own, and compiles to WASM. The
//! suggested reading order is the order of the modules below.
//!
//! - A **tenant** writes **rules**; a rule holds one or more **limits**.
//! - A request (`request`) is matched with the rules of its namespace (`matching`). The limits of the rules that match,
//!   applied to its **subject** at its **cost**, are **charges** (`charge`).
//! - An algorithm judges a charge against its **counter** (`algorithm`, `counter`), all charges of a
//!   check are judged together (`decide`), and the answer is the **verdict** (`verdict`).
//! - All rules of all tenants, compiled, are the **rulebook**.

pub mod id;
pub mod quantity;
pub mod time;

pub mod algorithm;
pub mod counter;
pub mod limit;

pub mod address;
pub mod approximation;
pub mod ceilings;
pub mod condition;
pub mod counted;
pub mod draft;
pub mod email;
pub mod names;
pub mod overrides;
#[cfg(feature = "regex")]
pub mod pattern;
pub mod pattern_budget;
pub mod regions;
pub mod rule;
pub mod unleased;
pub mod warnings;

pub mod alert;
pub mod api_key;
pub mod latency;
pub mod profile;
pub mod rate;
pub mod request;
pub mod subject;
pub mod webhook;

pub mod charge;
pub mod charged;
pub mod customers;
pub mod decide;
pub mod fnv;
pub mod lease;
pub mod matching;
pub mod renewal;
pub mod reservation;
pub mod rule_index;
pub mod rule_parts;
pub mod rulebook;
pub mod sample;
pub mod sharded_map;
pub mod spread;
pub mod unmatched;
pub mod verdict;

#[cfg(feature = "calendar")]
pub mod calendar;
