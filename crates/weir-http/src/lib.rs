//! The parts of HTTP that both planes share.
//!
//! A plane builds its router, makes a [`plane::Plane`] of it and runs that with [`serve::serve`]. Handlers take
//! [`json::Json`], [`params::Path`] and [`params::Query`] and fail with a [`problem::Problem`], so that every
//! error of both planes has one shape. The modules below are listed in reading order.

pub mod problem;

pub mod json;
pub mod params;

pub mod bearer;
pub mod client_address;
pub mod exposition;
pub mod request_id;

pub mod plane;
pub mod serve;
pub mod view_token;

mod failure_log;
mod unique_keys;
