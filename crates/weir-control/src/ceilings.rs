//! Ceilings of tenants, in JSON.

use weir_domain::ceilings::CeilingValues;
use weir_store::TenantCeilings as Stored;
use weir_wire::ceilings::{CeilingsBody, DefaultCeilings, TenantCeilings};

pub(crate) mod admin_rate;
pub(crate) mod read;
mod refusals;

pub(crate) use refusals::{reached, too_often};

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
