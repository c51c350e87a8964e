//! Profiles in JSON: how the requests that a proxy asks about become checks.

mod attributes;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_domain::profile::{CostSource, DomainDraft, Profile, ProfileDraft};

pub use self::attributes::{AttributeBody, PathFold};
use crate::problem::FieldProblem;
use crate::time::DateTime;
use crate::words::{Descriptors, Reads};

/// A profile in a request. Fields left out have their defaults; unknown ones are refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ProfileBody {
    /// The name, unique in the tenant; `^[a-z0-9][a-z0-9-]{0,62}$`. A proxy asks `/authorize/{name}`.
    pub name: String,
    /// The family of headers that is believed. With `rate_limit_service`, the profile is of a domain, and has only `namespace`,
    /// `domain`, `descriptors` and `rename`.
    pub reads: Reads,
    /// The namespace of the rules; default `default`.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// The position of the client's address in `X-Forwarded-For`, from the right; from 1 to 16, default 1.
    #[serde(default = "one_hop")]
    pub trusted_hops: u8,
    /// The sources of the attributes, from 1 to 32.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, AttributeBody>,
    /// The cost of a request, default 1.
    #[serde(default)]
    pub cost: CostBody,
    /// The header that identifies a request. If a proxy asks twice within 60 seconds, the second time takes nothing. The
    /// proxy must set it anew for each request, because a client that chooses it is counted once: the documented files set
    /// `x-weir-request-id`.
    #[serde(default)]
    pub idempotency: Option<HeaderBody>,
    /// The status of a denied request: 429, or 403 for nginx.
    #[serde(default = "too_many_requests")]
    pub deny_status: u16,
    /// The domain of the rate limit service, unique in the tenant; `*` for all domains without a profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The attributes of the descriptors of a call; default `separate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptors: Option<Descriptors>,
    /// Names of attributes, by the keys of entries; at most 32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rename: Option<BTreeMap<String, String>>,
}

/// The cost: a number of units, or a header that states it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(
    untagged,
    expecting = "must be a number of units, or `from`, `name` and `default` of a header"
)]
pub enum CostBody {
    /// The same for every request.
    Units(u64),
    /// A header.
    Header(CostHeaderBody),
}

/// A header that states the cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CostHeaderBody {
    /// Always `header`.
    pub from: FromHeader,
    /// The name of the header.
    pub name: String,
    /// The cost of a request without the header, or whose value is no number; default 1.
    #[serde(default = "one_unit")]
    pub default: u64,
}

/// A header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct HeaderBody {
    /// Always `header`.
    pub from: FromHeader,
    /// The name of the header.
    pub name: String,
}

/// The word `header`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FromHeader {
    /// A header.
    Header,
}

/// A profile in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProfileAnswer {
    /// Its id.
    pub id: String,
    /// The profile as it was written, with its defaults.
    #[serde(flatten)]
    pub profile: ProfileBody,
    /// The set of rules as code that the profile belongs to; null if people edit it.
    pub managed_by: Option<String>,
    /// Whether the profile differs from what the last apply of its set wrote.
    pub edited: bool,
    /// Warnings to the author of the profile, such as that of an idempotency header that clients can send.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The revision, which rises by one with each change; also the `ETag`.
    pub revision: u64,
    /// The version of the rulebook from which this revision applies.
    pub rulebook_version: u64,
    /// The time of creation.
    pub created_at: DateTime,
    /// The time of the last change.
    pub updated_at: DateTime,
}

impl ProfileBody {
    /// The profile, or all problems of its fields.
    pub fn parse(self) -> Result<Profile, Vec<FieldProblem>> {
        Profile::parse(self.into()).map_err(FieldProblem::list)
    }
}

impl From<ProfileBody> for ProfileDraft {
    fn from(body: ProfileBody) -> Self {
        let sources = body.attributes.into_iter();
        let has_domain =
            body.domain.is_some() || body.descriptors.is_some() || body.rename.is_some();
        let domain = has_domain.then(|| DomainDraft {
            name: body.domain.unwrap_or_default(),
            descriptors: body.descriptors.map(Into::into).unwrap_or_default(),
            rename: body.rename.unwrap_or_default(),
        });
        Self {
            name: body.name,
            reads: body.reads.into(),
            namespace: body.namespace,
            trusted_hops: body.trusted_hops,
            attributes: sources.map(|(name, source)| (name, source.into())).collect(),
            cost: body.cost.into(),
            idempotency: body.idempotency.map(|header| header.name),
            deny_status: body.deny_status,
            domain,
        }
    }
}

impl From<CostBody> for CostSource {
    fn from(body: CostBody) -> Self {
        match body {
            CostBody::Units(units) => Self::Fixed(units),
            CostBody::Header(header) => Self::Header { name: header.name, default: header.default },
        }
    }
}

impl Default for CostBody {
    fn default() -> Self {
        Self::Units(one_unit())
    }
}

fn default_namespace() -> String {
    weir_domain::request::DEFAULT_NAMESPACE.to_owned()
}

const fn one_hop() -> u8 {
    1
}

const fn one_unit() -> u64 {
    1
}

const fn too_many_requests() -> u16 {
    429
}
