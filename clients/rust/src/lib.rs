//! The Rust client of Weir, rate limiting as a service.
//!
//! A [`Weir`] asks gates; [`WeirLayer`] limits the requests of a tower service. The README shows both.
//!
//! Reading order: `options` and `request`, what goes in; `client`, the calls; `answer` and `error`, what comes out; `limits` and
//! `layer`, the middleware.

mod address;
mod answer;
#[cfg(feature = "axum")]
pub mod axum;
mod batcher;
mod cache;
mod client;
mod deferral;
mod error;
mod headers;
mod held;
mod layer;
mod lease;
mod limits;
mod options;
mod request;
mod reservation;
mod signature;
pub mod testing;
mod transport;

pub use address::{AddressOptions, client_address};
pub use answer::{Answer, Degraded, LimitAnswer, Mode};
pub use client::Weir;
pub use deferral::{DeferRequest, Deferral, DeferredJob, DeferredState};
pub use error::{Error, FieldProblem, Kind};
pub use held::LimitedBody;
pub use layer::{WeirLayer, WeirService};
pub use lease::{Lease, Released, Renewed};
pub use limits::Limits;
pub use options::{Choice, OnError, Options, WrongOption};
pub use request::{Attributes, CheckRequest, safe_attributes};
pub use reservation::{Committed, Reservation, ReserveRequest};
pub use signature::{SIGNATURE_TOLERANCE, WrongSecret, is_from_weir, is_from_weir_at};

/// The value of a route for a request that no route matches. Its path would be a new subject each time.
pub const UNMATCHED: &str = "unmatched";
