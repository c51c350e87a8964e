//! A call of the service, as checks.

use std::collections::BTreeMap;

use weir_domain::limit::COST_MAX;
use weir_domain::names::{self, ATTRIBUTES_MAX};
use weir_domain::profile::{Descriptors, attributes_of};
use weir_domain::request::{Operation, Request, RequestDraft};
use weir_rls::{Descriptor, RateLimitRequest};

use crate::decide::merged_check::{MergedCheck, REQUESTS_MAX};
use crate::decide::{TooManyLimits, decide_together};
use crate::metrics::rls_meters::{Ignored, RlsMeters};
use crate::requests::caller::Caller;
use crate::state::GateState;

/// The key of the entry that makes a descriptor a record. The proxy's configuration sets it; it is no attribute.
const OPERATION_KEY: &str = "weir.operation";
const RECORD: &[u8] = b"record";

/// The checks of a call. Each is decided as a whole.
pub(super) struct Call {
    /// The checks, refunds first, so that others can use the units. Not empty.
    checks: Vec<Vec<Request>>,
    /// The place of each descriptor: a check and a request in it. `None` for descriptors that are ignored.
    places: Vec<Option<(usize, usize)>>,
}

/// The meaning of a domain for a tenant.
struct Domain<'a> {
    namespace: &'a str,
    descriptors: Descriptors,
    rename: &'a BTreeMap<String, String>,
}

/// The operation of a descriptor, and its entries as attributes.
struct Hits<'m> {
    operation: Operation,
    cost: u64,
    entries: Vec<(&'m str, &'m [u8])>,
}

impl Call {
    /// The checks of a call. `None` if the domain is unknown.
    pub(super) fn new(
        caller: &Caller,
        message: &RateLimitRequest,
        meters: &RlsMeters,
    ) -> Option<Self> {
        static NO_NAMES: BTreeMap<String, String> = BTreeMap::new();
        let profile = caller.book.profile_of_domain(caller.tenant, &message.domain);
        let domain = match profile.and_then(|profile| Some((profile, profile.domain()?))) {
            Some((profile, domain)) => Domain {
                namespace: profile.namespace(),
                descriptors: domain.descriptors,
                rename: &domain.rename,
            },
            None if names::namespace(&message.domain).is_ok()
                && caller.book.namespace(caller.tenant, &message.domain).is_some() =>
            {
                let namespace = message.domain.as_str();
                let descriptors = Descriptors::Separate;
                Domain { namespace, descriptors, rename: &NO_NAMES }
            }
            None => {
                meters.ignored(Ignored::Domain);
                return None;
            }
        };
        if message.descriptors.len() > REQUESTS_MAX {
            meters.ignored(Ignored::Descriptors);
        }
        let each = message.descriptors.iter().take(REQUESTS_MAX);
        let hits = each.map(|descriptor| {
            let hits = Hits::new(descriptor, message.hits_addend, meters);
            meters.descriptor(hits.operation);
            hits
        });
        Some(domain.call(&hits.collect::<Vec<_>>(), message.descriptors.len()))
    }

    /// Decides the checks in order. Descriptors that cannot be decided together, because they match too many limits or counters
    /// at several places of a namespace that is spread, are decided one after another.
    pub(super) async fn decide(
        self,
        state: &GateState,
        caller: &Caller,
    ) -> Result<(Self, Vec<MergedCheck>), TooManyLimits> {
        match decide_together(state, caller, &self.checks).await {
            Ok(decided) => Ok((self, decided)),
            Err(_) if self.checks.iter().any(|check| check.len() > 1) => {
                let call = self.one_by_one();
                let decided = decide_together(state, caller, &call.checks).await?;
                Ok((call, decided))
            }
            Err(error) => Err(error),
        }
    }

    /// The number of descriptors.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The check of a descriptor, and its request in it.
    pub(super) fn place(&self, descriptor: usize) -> Option<(usize, usize)> {
        self.places.get(descriptor).copied().flatten()
    }

    /// Whether a check admits or denies. Refunds and records do not.
    pub(super) fn decides(&self, check: usize) -> bool {
        let operation = self.checks[check].first().map(Request::operation);
        matches!(operation, Some(Operation::Consume | Operation::Peek))
    }

    fn one_by_one(self) -> Self {
        let firsts: Vec<usize> = self
            .checks
            .iter()
            .scan(0, |next, check| {
                let first = *next;
                *next += check.len();
                Some(first)
            })
            .collect();
        let alone = |(check, request): (usize, usize)| (firsts[check] + request, 0);
        let places = self.places.iter().map(|place| place.map(alone)).collect();
        Self { checks: self.checks.into_iter().flatten().map(|one| vec![one]).collect(), places }
    }
}

impl<'m> Hits<'m> {
    fn new(descriptor: &'m Descriptor, common: u32, meters: &RlsMeters) -> Self {
        if descriptor.limit.is_some() {
            meters.ignored(Ignored::Limit);
        }
        let all =
            descriptor.entries.iter().map(|entry| (entry.key.as_str(), entry.value.as_slice()));
        let (operations, entries): (Vec<_>, Vec<_>) =
            all.partition(|(key, _)| *key == OPERATION_KEY);
        if entries.len() > ATTRIBUTES_MAX {
            meters.ignored(Ignored::Entries);
        }
        let units = descriptor.hits_addend.unwrap_or_else(|| u64::from(common.max(1)));
        let operation = match units {
            0 => Operation::Peek,
            _ if descriptor.is_negative_hits => Operation::Refund,
            _ if operations.contains(&(OPERATION_KEY, RECORD)) => Operation::Record,
            _ => Operation::Consume,
        };
        Self { operation, cost: units.clamp(1, COST_MAX), entries }
    }

    /// The check that the descriptor is part of. Descriptors that only look are part of the check that consumes.
    fn check(&self) -> usize {
        match self.operation {
            Operation::Refund => 0,
            Operation::Record | Operation::Commit(_) => 1,
            Operation::Consume
            | Operation::Peek
            | Operation::Inspect
            | Operation::Reserve(_)
            | Operation::Exhaust(_)
            | Operation::Renew(_)
            | Operation::Release(_) => 2,
        }
    }
}

impl Domain<'_> {
    fn call(&self, hits: &[Hits<'_>], descriptors: usize) -> Call {
        let mut call = Call { checks: Vec::new(), places: vec![None; descriptors] };
        for check in 0..3 {
            let mut own: Vec<_> =
                hits.iter().enumerate().filter(|(_, hits)| hits.check() == check).collect();
            if own.is_empty() {
                continue;
            }
            // The first request of a check states its operation.
            own.sort_by_key(|(_, hits)| hits.operation == Operation::Peek);
            let at = call.checks.len();
            for (request, (descriptor, _)) in own.iter().enumerate() {
                let request = if self.descriptors == Descriptors::Merged { 0 } else { request };
                call.places[*descriptor] = Some((at, request));
            }
            call.checks.push(match self.descriptors {
                Descriptors::Separate => {
                    own.iter().map(|(_, hits)| self.request(&[hits])).collect()
                }
                Descriptors::Merged => {
                    let all: Vec<_> = own.iter().map(|(_, hits)| *hits).collect();
                    vec![self.request(&all)]
                }
            });
        }
        call
    }

    /// The request of descriptors, with the operation of the first and the largest cost.
    fn request(&self, hits: &[&Hits<'_>]) -> Request {
        let entries = hits.iter().flat_map(|hits| hits.entries.iter().copied());
        let request = Request::parse(RequestDraft {
            namespace: self.namespace.to_owned(),
            attributes: attributes_of(entries, self.rename),
            cost: hits.iter().map(|hits| hits.cost).max().unwrap_or(1),
            operation: hits.first().map_or(Operation::Peek, |first| first.operation),
            idempotency_key: None,
        });
        request.expect("entries make no invalid values")
    }
}
