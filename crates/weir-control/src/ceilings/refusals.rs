//! The problems of a tenant that has reached a ceiling.

use weir_domain::ceilings::Ceiling;
use weir_http::problem::Problem;
use weir_wire::problem::ErrorCode;

/// The tenant has as many as it can have.
pub(crate) fn reached(ceiling: Ceiling, value: u64, has: u64) -> Problem {
    let detail = format!("the tenant has {has}, and its ceiling `{}` is {value}", ceiling.as_str());
    Problem::new(ErrorCode::Conflict, detail)
}

/// The tenant exceeds a rate.
pub(crate) fn too_often(ceiling: Ceiling, value: u64, retry_after_s: u32) -> Problem {
    let detail = format!("the tenant's ceiling `{}` is {value}", ceiling.as_str());
    Problem::new(ErrorCode::TooManyRequests, detail).retry_after_s(retry_after_s.max(1))
}
