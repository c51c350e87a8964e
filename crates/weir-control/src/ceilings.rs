//! Ceilings of tenants, in JSON.

use axum::extract::State;
use weir_domain::ceilings::{Ceiling, CeilingValues};
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{Retention, TenantCeilings as Stored};
use weir_wire::ceilings::{CeilingsBody, DefaultCeilings, TenantCeilings};

use crate::actor::{By, Viewer};
use crate::error::ControlError;
use crate::state::ControlState;

pub(crate) mod admin_rate;
mod refusals;

pub(crate) use refusals::{reached, too_often};

/// The ceilings of the tenant. Operators set them.
#[utoipa::path(get, path = "/tenants/{tenant}/ceilings", operation_id = "ceilings_read", tag = "tenants",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    responses((status = 200, description = "The ceilings", body = TenantCeilings)))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
) -> Result<Json<TenantCeilings>, ControlError> {
    let mut tx = control.reading("ceilings.read", &caller).await?;
    let stored = tx.ceilings().of_tenant(caller.tenant_id).await?;
    Ok(Json(of_tenant(&stored)))
}

/// Refuses a value that the installation cannot honour: statistics are retained no longer than its setting says.
pub(crate) fn within_installation(
    values: &CeilingValues,
    retention: &Retention,
) -> Result<(), Problem> {
    let most = u64::from(retention.days_days);
    match values.get(Ceiling::StatisticsDays) {
        Some(days) if days > most => {
            let reason =
                format!("must be from 1 to {most}, the days that `WEIR_STATS_DAYS` retains");
            Err(Problem::invalid_field("statistics_days", reason))
        }
        _ => Ok(()),
    }
}

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
