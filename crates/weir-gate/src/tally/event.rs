//! The event that the statistics count.

use std::sync::Arc;
use std::time::Duration;

use weir_domain::id::{KeyId, TenantId};
use weir_domain::matching::Matched;
use weir_domain::request::Request;
use weir_domain::sample::SamplePlan;
use weir_domain::time::Timestamp;
use weir_domain::unmatched::Unmatched;
use weir_http::request_id::RequestId;
use weir_wire::check::CheckAnswer;

use crate::decide::merged_check::Origins;

/// An answered request, to be counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecisionEvent<'a> {
    pub(crate) tenant: TenantId,
    pub(crate) key: KeyId,
    pub(crate) at: Timestamp,
    /// The id of the request that the answer has, and that of its trace, for the log of denials.
    pub(crate) request_id: Option<RequestId>,
    pub(crate) trace_id: Option<u128>,
    /// The duration of the decision.
    pub(crate) took: Duration,
    /// Whether the request's namespace has rules. All namespaces without rules are counted as one.
    pub(crate) known_namespace: bool,
    /// The plan by which the check is sampled for what-if runs. `None` means that it is not sampled.
    pub(crate) sample: Option<&'a Arc<SamplePlan>>,
    /// The attribute that names the customer, of a tenant that counts its customers.
    pub(crate) customer_attribute: Option<&'a str>,
    /// The requests that were decided together, mostly one.
    pub(crate) requests: &'a [Request],
    /// The requests that meet each rule, of several. Empty for one request.
    pub(crate) origins: &'a [Origins],
    pub(crate) matched: &'a Matched,
    pub(crate) answer: &'a CheckAnswer,
}

impl DecisionEvent<'_> {
    /// The first request. All have its namespace.
    pub(crate) fn request(&self) -> &Request {
        self.requests.first().expect("a check has a request")
    }

    /// The reason why no rule counted the request, if none did. Requests that admission answered meet no rules.
    pub(crate) fn unmatched(&self) -> Option<Unmatched<'_>> {
        match self.matched {
            _ if self.answer.code.is_some() => None,
            Matched::Unmatched(_) if !self.known_namespace => Some(Unmatched::Namespace),
            Matched::Unmatched(Some(attribute)) => Some(Unmatched::Attribute(attribute)),
            Matched::Unmatched(None) => Some(Unmatched::Conditions),
            _ => None,
        }
    }

    /// The request that meets the rule at this position of those that match.
    pub(super) fn request_of(&self, rule: usize) -> &Request {
        let met = self.origins.get(rule).and_then(|origins| self.requests.get(origins.first()));
        met.unwrap_or_else(|| self.request())
    }
}
