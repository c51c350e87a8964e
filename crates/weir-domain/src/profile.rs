//! Profiles: how the requests that a proxy asks about become checks.
//!
//! A proxy asks `/authorize/{profile}` before it forwards a request. The profile names the one family of headers that is
//! believed, and the attributes that are made of them. Or the proxy calls the rate limit service, and the profile of the
//! domain that it names states what its descriptors become. A client controls most of these values, so no value is an error:
//! a value that no attribute can have is replaced by a stable one.

mod descriptor;
mod domain;
mod draft;
mod path;
mod proxy_request;
mod source;
mod template;
mod values;

pub use descriptor::{DESCRIPTOR_ATTRIBUTE, attribute_of_key, attributes_of};
pub use domain::{ANY_DOMAIN, DOMAIN_BYTES_MAX, Descriptors, DomainDraft};
pub use draft::{CostSource, ProfileDraft, Reads};
pub use path::PathFold;
pub use proxy_request::{MissingHeader, ProxyHeaders, ProxyRequest};
pub use source::{AttributeSource, Part, ValueSource};

/// The most profiles of a tenant.
pub const PROFILES_PER_TENANT_MAX: u64 = 100;
/// The most proxies before the gate, of which each appends an address to `X-Forwarded-For`.
pub const TRUSTED_HOPS_MAX: u8 = 16;
/// The statuses with which a profile can deny a request.
pub const DENY_STATUSES: [u16; 2] = [429, 403];
/// The most bytes of the name of a header, a parameter or a cookie.
pub const HEADER_NAME_BYTES_MAX: usize = 64;
/// The most templates of a path.
pub const TEMPLATES_MAX: usize = 32;

/// The header by which the documented files identify a request. They set it anew for each request of a client.
pub const REQUEST_ID_HEADER: &str = "x-weir-request-id";

/// A checked profile. Names of headers are in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile(ProfileDraft);

impl Profile {
    /// The name, by which a proxy asks.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The family of headers that is believed.
    pub fn reads(&self) -> Reads {
        self.0.reads
    }

    /// The domain of the rate limit service, if the profile reads that.
    pub fn domain(&self) -> Option<&DomainDraft> {
        self.0.domain.as_ref()
    }

    /// The namespace of the rules.
    pub fn namespace(&self) -> &str {
        &self.0.namespace
    }

    /// The status of a denied request.
    pub fn deny_status(&self) -> u16 {
        self.0.deny_status
    }
}

#[cfg(test)]
mod tests;
