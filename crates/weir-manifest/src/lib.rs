//! Rules as code: manifests in YAML. Nothing in this crate reads files or calls a server.
//!
//! - [`yaml`] parses a file into nodes that know their line and column.
//! - [`rule_set`] reads the objects of all files of a set, and finds the place of each error.
//! - [`export`] writes objects as manifests, without defaults.
//! - [`envoy`] converts the files of Envoy's rate limit service.
//! - [`schema`] describes a manifest as JSON Schema.

mod alert_document;
mod assignment_document;
mod correction;
mod document;
mod durations;
pub mod envoy;
pub mod export;
mod fields;
mod objects;
mod override_document;
mod plan_document;
mod profile_document;
mod rule_document;
pub mod rule_set;
pub mod schema;
pub mod yaml;
