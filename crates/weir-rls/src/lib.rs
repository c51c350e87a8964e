//! Envoy's Rate Limit Service v3: the messages that Weir reads and writes, and the server of the service.
//!
//! `cargo xtask protos` generates the code from `proto/rls.proto`; a step of the tests compares them. The crate is apart from the
//! gate because lints do not apply to generated code.

mod generated;

pub use generated::*;
