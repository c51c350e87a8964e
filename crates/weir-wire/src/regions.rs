//! The regions of an installation in JSON, which is also their stored form.

use serde::{Deserialize, Serialize};
use weir_domain::regions::{Region, Regions};

use crate::check::LimitAnswer;
use crate::problem::FieldProblem;

/// The regions of an installation. Without regions, all gates share one Redis.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RegionsBody {
    /// The region that has the counters of rules with `reach: "world"`; null only without regions.
    #[serde(default)]
    pub home: Option<String>,
    /// The regions.
    pub regions: Vec<RegionBody>,
}

/// A region: a data centre with gates and a Redis of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RegionBody {
    /// The name, unique in the installation; `^[a-z0-9][a-z0-9-]{0,62}$`. Gates have it in `WEIR_REGION`.
    pub name: String,
    /// The addresses of the internal listeners of its gates, such as `https://gate-1.eu.example.com:8443`; at most 255 bytes each.
    pub gates: Vec<String>,
}

/// The state of a rule's limits in one region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RegionLimits {
    /// The name of the region.
    pub region: String,
    /// The state of the limits there.
    pub limits: Vec<LimitAnswer>,
}

impl RegionsBody {
    /// The regions, or all problems of the fields.
    pub fn parse(&self) -> Result<Regions, Vec<FieldProblem>> {
        let region = |RegionBody { name, gates }: &RegionBody| Region {
            name: name.clone(),
            gates: gates.clone(),
        };
        let regions = self.regions.iter().map(region).collect();
        Regions::parse(self.home.as_deref(), regions).map_err(FieldProblem::list)
    }
}
