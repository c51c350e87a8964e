//! Checks to replay, in the order of time. Equal attributes are stored once.

use std::collections::{BTreeMap, HashMap};

use weir_domain::names::InvalidField;
use weir_domain::request::{Operation, Request, RequestDraft};
use weir_domain::time::Timestamp;

/// Checks of one namespace.
#[derive(Debug)]
pub(super) struct Traffic {
    namespace: String,
    known: HashMap<BTreeMap<String, String>, u32>,
    /// The different requests.
    pub(super) requests: Vec<Request>,
    pub(super) asked: Vec<ReplayedCheck>,
}

/// One check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReplayedCheck {
    pub(super) at: Timestamp,
    /// The index of the request.
    pub(super) request: u32,
    pub(super) cost: u64,
    /// The operation: consume or refund.
    pub(super) operation: Operation,
}

impl Traffic {
    pub(super) fn new(namespace: &str) -> Self {
        let namespace = namespace.to_owned();
        Self { namespace, known: HashMap::new(), requests: Vec::new(), asked: Vec::new() }
    }

    /// The index of a request with these attributes.
    pub(super) fn request(
        &mut self,
        attributes: BTreeMap<String, String>,
    ) -> Result<u32, Vec<InvalidField>> {
        if let Some(place) = self.known.get(&attributes) {
            return Ok(*place);
        }
        let draft = RequestDraft {
            namespace: self.namespace.clone(),
            attributes: attributes.clone(),
            cost: 1,
            operation: Operation::Consume,
            idempotency_key: None,
        };
        let place = u32::try_from(self.requests.len()).unwrap_or(u32::MAX);
        self.requests.push(Request::parse(draft)?);
        self.known.insert(attributes, place);
        Ok(place)
    }

    /// Sorts the checks by time. Checks at the same time keep their order.
    pub(super) fn sort(&mut self) {
        self.asked.sort_by_key(|check| check.at);
    }
}
