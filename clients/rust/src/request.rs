//! Requests, and the values that every gate accepts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// Names and values by which rules test and count.
pub type Attributes = BTreeMap<String, String>;

const VALUE_BYTES_MAX: usize = 512;

/// An action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckRequest {
    pub(crate) namespace: String,
    pub(crate) attributes: Attributes,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost: Option<u64>,
    #[serde(rename = "mode", skip_serializing_if = "is_false", serialize_with = "as_peek")]
    pub(crate) peek: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idempotency_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) charge: Option<String>,
}

impl CheckRequest {
    /// An action without attributes in a group of rules.
    pub fn new(namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            attributes: Attributes::new(),
            cost: None,
            peek: false,
            idempotency_key: None,
            charge: None,
        }
    }

    /// With an attribute.
    #[must_use]
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.insert(name.into(), value.into());
        self
    }

    /// With these attributes alone.
    #[must_use]
    pub fn attributes(mut self, attributes: Attributes) -> Self {
        self.attributes = attributes;
        self
    }

    /// The number of units. The gate takes 1 if it is not given.
    #[must_use]
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = Some(cost);
        self
    }

    /// Answers without taking anything.
    #[must_use]
    pub fn peek(mut self) -> Self {
        self.peek = true;
        self
    }

    /// A repeat with this key within 60 s gets the first answer and takes nothing.
    #[must_use]
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Of a refund: the charge of the answer to the check. Units return only to the window, bucket or entry that was charged.
    #[must_use]
    pub fn charge(mut self, charge: impl Into<String>) -> Self {
        self.charge = Some(charge.into());
        self
    }

    /// Equal for requests that every rulebook decides alike; `None` for those that must be sent. A smaller cost can pass.
    pub(crate) fn cache_key(&self) -> Option<CacheKey> {
        let cacheable = !self.peek && self.idempotency_key.is_none();
        cacheable.then(|| (self.namespace.clone(), self.cost.unwrap_or(1), self.attributes.clone()))
    }

    /// With an idempotency key, if the request would take or return units.
    pub(crate) fn with_retry_key(mut self) -> Self {
        if !self.peek && self.idempotency_key.is_none() {
            self.idempotency_key = Some(new_key());
        }
        self
    }
}

pub(crate) type CacheKey = (String, u64, Attributes);

/// The attributes with values that every gate accepts, so that no client can cause an error by what it sends: those that are longer than
/// 512 bytes or contain control characters become their SHA-256.
#[must_use]
pub fn safe_attributes(attributes: Attributes) -> Attributes {
    attributes.into_iter().map(|(name, value)| (name, safe_value(value))).collect()
}

fn safe_value(value: String) -> String {
    if value.len() <= VALUE_BYTES_MAX && !value.contains(char::is_control) {
        return value;
    }
    format!("sha256:{}", hex(&Sha256::digest(&value)))
}

fn new_key() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system has random numbers");
    hex(&bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all");
        text
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(peek: &bool) -> bool {
    !peek
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn as_peek<S: serde::Serializer>(_: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("peek")
}
