//! A profile as written, and its bounds.

use std::collections::BTreeMap;

use super::source::invalid_header;
use super::{AttributeSource, DENY_STATUSES, DomainDraft, Profile, TRUSTED_HOPS_MAX};
use crate::limit::COST_MAX;
use crate::names::{self, ATTRIBUTES_MAX, InvalidField};

/// A profile as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileDraft {
    /// The name, unique in the tenant.
    pub name: String,
    /// The family of headers that is believed.
    pub reads: Reads,
    /// The namespace of the rules.
    pub namespace: String,
    /// The position of the client's address in `X-Forwarded-For`, from the right.
    pub trusted_hops: u8,
    /// The source of each attribute.
    pub attributes: BTreeMap<String, AttributeSource>,
    /// The source of the cost.
    pub cost: CostSource,
    /// The header that identifies a request, so that a repeat of the proxy takes nothing.
    pub idempotency: Option<String>,
    /// The status of a denied request.
    pub deny_status: u16,
    /// The domain of the rate limit service. Only a profile that reads it has one, and no other settings but the namespace.
    pub domain: Option<DomainDraft>,
}

/// A family of headers that describe a request, or calls of the rate limit service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reads {
    /// `X-Forwarded-Method`, `X-Forwarded-Uri` and `X-Forwarded-Host`: Traefik, Caddy, HAProxy.
    ForwardAuth,
    /// `X-Original-Method`, `X-Original-URI` and `X-Original-Host`: nginx.
    AuthRequest,
    /// The request line and `Host` of the request itself: Envoy.
    ExtAuthz,
    /// Calls of Envoy's rate limit service, instead of `/authorize`.
    RateLimitService,
}

/// The source of the cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CostSource {
    /// The same for every request.
    Fixed(u64),
    /// A header.
    Header {
        /// The name of the header.
        name: String,
        /// The cost of a request without the header, or whose value is no number.
        default: u64,
    },
}

impl Reads {
    /// All families, in the order of the documentation.
    pub const ALL: [Self; 4] =
        [Self::ForwardAuth, Self::AuthRequest, Self::ExtAuthz, Self::RateLimitService];

    /// The name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ForwardAuth => "forward_auth",
            Self::AuthRequest => "auth_request",
            Self::ExtAuthz => "ext_authz",
            Self::RateLimitService => "rate_limit_service",
        }
    }

    /// The text that people read in lists.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ForwardAuth => "Traefik, Caddy, HAProxy",
            Self::AuthRequest => "nginx",
            Self::ExtAuthz => "Envoy",
            Self::RateLimitService => "Envoy, rate limit service",
        }
    }

    /// The text of a form.
    pub const fn choice(self) -> &'static str {
        match self {
            Self::ForwardAuth => "Traefik, Caddy, HAProxy: X-Forwarded-*",
            Self::AuthRequest => "nginx: X-Original-*",
            Self::ExtAuthz => "Envoy: the request itself",
            Self::RateLimitService => "Envoy: calls of the rate limit service",
        }
    }
}

impl Profile {
    /// Checks the whole draft and reports everything that is wrong with it.
    pub fn parse(mut draft: ProfileDraft) -> Result<Self, Vec<InvalidField>> {
        let mut wrong = Vec::new();
        let mut invalid =
            |field: &str, reason: String| wrong.push(InvalidField::new(field, reason));
        if let Err(reason) = names::rule(&draft.name) {
            invalid("name", reason.to_owned());
        }
        if let Err(reason) = names::namespace(&draft.namespace) {
            invalid("namespace", reason.to_owned());
        }
        if !(1..=TRUSTED_HOPS_MAX).contains(&draft.trusted_hops) {
            invalid("trusted_hops", format!("must be from 1 to {TRUSTED_HOPS_MAX}"));
        }
        let is_service = draft.reads == Reads::RateLimitService;
        if !is_service && !(1..=ATTRIBUTES_MAX).contains(&draft.attributes.len()) {
            invalid("attributes", format!("must hold from 1 to {ATTRIBUTES_MAX} attributes"));
        }
        if is_service {
            draft.without_effect().for_each(|field| {
                invalid(field, "has no effect with `rate_limit_service`".to_owned());
            });
        }
        match &draft.domain {
            None if is_service => {
                invalid("domain", "is missing for `rate_limit_service`".to_owned());
            }
            Some(_) if !is_service => {
                let reason =
                    "and `descriptors` and `rename` are fields of `rate_limit_service` only";
                invalid("domain", reason.to_owned());
            }
            _ => {}
        }
        if !DENY_STATUSES.contains(&draft.deny_status) {
            let [usual, other] = DENY_STATUSES;
            invalid("deny_status", format!("must be {usual} or {other}"));
        }
        if let Some(name) = &mut draft.idempotency {
            name.make_ascii_lowercase();
            wrong.extend(invalid_header("idempotency.name", name));
        }
        wrong.extend(draft.cost.normalise());
        wrong.extend(draft.domain.iter_mut().flat_map(DomainDraft::normalise));
        for (name, source) in &mut draft.attributes {
            wrong.extend(source.normalise(name));
        }
        if wrong.is_empty() { Ok(Self(draft)) } else { Err(wrong) }
    }

    /// The profile as written, with names of headers in lower case.
    pub fn draft(&self) -> &ProfileDraft {
        &self.0
    }
}

impl ProfileDraft {
    /// The fields that have other values than their defaults, and that only `/authorize` reads.
    fn without_effect(&self) -> impl Iterator<Item = &'static str> {
        let fields = [
            ("attributes", !self.attributes.is_empty()),
            ("trusted_hops", self.trusted_hops != 1),
            ("cost", self.cost != CostSource::Fixed(1)),
            ("idempotency", self.idempotency.is_some()),
            ("deny_status", self.deny_status != DENY_STATUSES[0]),
        ];
        fields.into_iter().filter(|(_, has_effect)| *has_effect).map(|(field, _)| field)
    }
}

impl CostSource {
    fn normalise(&mut self) -> Option<InvalidField> {
        let bounded = |field: &str, units: u64| {
            let reason = format!("must be from 1 to {COST_MAX}");
            (!(1..=COST_MAX).contains(&units)).then(|| InvalidField::new(field, reason))
        };
        match self {
            Self::Fixed(units) => bounded("cost", *units),
            Self::Header { name, default } => {
                name.make_ascii_lowercase();
                invalid_header("cost.name", name).or_else(|| bounded("cost.default", *default))
            }
        }
    }
}
