//! Ceilings of tenants: what they are, and the refusals that name them.

use weir_domain::ceilings::{Ceiling, CeilingValues};
use weir_http::problem::Problem;
use weir_store::TenantCeilings as Stored;
use weir_wire::ceilings::{CeilingsBody, DefaultCeilings, TenantCeilings};
use weir_wire::problem::ErrorCode;

pub(crate) mod admin_rate;
pub(crate) mod read;

/// The ceilings of a tenant in JSON.
pub(crate) fn of_tenant(ceilings: &Stored) -> TenantCeilings {
    TenantCeilings {
        in_force: CeilingsBody::of(|ceiling| Some(ceilings.get(ceiling))),
        own: CeilingsBody::of(|ceiling| ceilings.own.get(ceiling)),
    }
}

/// The ceilings of all other tenants in JSON.
pub(crate) fn defaults(set: &CeilingValues) -> DefaultCeilings {
    let none = CeilingValues::default();
    DefaultCeilings {
        in_force: CeilingsBody::of(|ceiling| Some(none.effective(set, ceiling))),
        set: CeilingsBody::of(|ceiling| set.get(ceiling)),
    }
}

/// The tenant has as many as it can have.
pub(crate) fn reached(ceiling: Ceiling, value: u64, has: u64) -> Problem {
    let detail = format!("the tenant has {has}, and its ceiling `{}` is {value}", ceiling.as_str());
    Problem::new(ErrorCode::Conflict, detail)
}

/// The tenant asks more often than it can.
pub(crate) fn too_often(ceiling: Ceiling, value: u64, retry_after_s: u32) -> Problem {
    let detail = format!("the tenant's ceiling `{}` is {value}", ceiling.as_str());
    Problem::new(ErrorCode::TooManyRequests, detail).retry_after_s(retry_after_s.max(1))
}
