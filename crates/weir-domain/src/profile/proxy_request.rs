//! A request as a proxy describes it, and the check that a profile makes of it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{AttributeSource, CostSource, Part, Profile, Reads, ValueSource};
use super::{path, template, values};
use crate::limit::COST_MAX;
use crate::request::{IDEMPOTENCY_KEY_BYTES_MAX, Operation, Request, RequestDraft};

/// A request to `/authorize/{profile}`.
#[derive(Debug, Clone, Copy)]
pub struct ProxyRequest<'a, H: ?Sized> {
    /// The method of the request line.
    pub method: &'a str,
    /// The path behind the name of the profile, with the query.
    pub target: &'a str,
    /// The host of the request itself. Empty if it has none.
    pub host: &'a [u8],
    /// The headers.
    pub headers: &'a H,
}

/// The headers of a request.
pub trait ProxyHeaders {
    /// The values of a header, in their order. `name` is in lower case.
    fn values<'a>(&'a self, name: &str) -> impl DoubleEndedIterator<Item = &'a [u8]>;
}

/// A header that describes the request in the profile's family, and that the proxy does not send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingHeader(pub &'static str);

/// The proxies' addresses, and the client's.
const FORWARDED_FOR: &str = "x-forwarded-for";

impl Profile {
    /// The check of a request that a proxy asks about. Fails only if the proxy is configured for another family: no value
    /// of a client is an error.
    pub fn request<H: ProxyHeaders + ?Sized>(
        &self,
        asked: &ProxyRequest<'_, H>,
    ) -> Result<Request, MissingHeader> {
        let profile = self.draft();
        let mut attributes = BTreeMap::new();
        for (name, source) in &profile.attributes {
            if let Some(value) = self.attribute(source, asked)? {
                attributes.insert(name.clone(), value);
            }
        }
        let key = profile.idempotency.as_deref().and_then(|name| joined(asked.headers, name));
        let request = Request::parse(RequestDraft {
            namespace: profile.namespace.clone(),
            attributes,
            cost: profile.cost.of(asked.headers),
            operation: Operation::Consume,
            idempotency_key: key.map(|key| values::text(&key, IDEMPOTENCY_KEY_BYTES_MAX)),
        });
        Ok(request.expect("the sources make no invalid values"))
    }

    fn attribute<H: ProxyHeaders + ?Sized>(
        &self,
        source: &AttributeSource,
        asked: &ProxyRequest<'_, H>,
    ) -> Result<Option<String>, MissingHeader> {
        let reads = self.reads();
        Ok(Some(match source {
            AttributeSource::Address { ipv6_prefix } => {
                let hops = usize::from(self.draft().trusted_hops);
                let entry = asked.forwarded_entry(hops).ok_or(MissingHeader(FORWARDED_FOR))?;
                values::address(entry, *ipv6_prefix)
            }
            AttributeSource::Method => values::value(asked.method(reads)?),
            AttributeSource::Path { fold, templates, default } => {
                let path = path::of_target(asked.target(reads)?, fold);
                let template = templates.iter().find(|one| template::matched(one, &path).is_some());
                match template.or(default.as_ref()) {
                    Some(found) => found.clone(),
                    None => path::attribute(path),
                }
            }
            AttributeSource::Host => values::host(asked.host(reads)),
            AttributeSource::Value(source) => return source.attribute(reads, asked),
        }))
    }
}

impl<'a, H: ProxyHeaders + ?Sized> ProxyRequest<'a, H> {
    fn method(&self, reads: Reads) -> Result<&'a [u8], MissingHeader> {
        match reads {
            Reads::ForwardAuth => self.described("x-forwarded-method"),
            Reads::AuthRequest => self.described("x-original-method"),
            Reads::ExtAuthz | Reads::RateLimitService => Ok(self.method.as_bytes()),
        }
    }

    /// The path with its query.
    fn target(&self, reads: Reads) -> Result<&'a [u8], MissingHeader> {
        match reads {
            Reads::ForwardAuth => self.described("x-forwarded-uri"),
            // nginx ignores a fragment. Others refuse it, or forward it as a part of the path.
            Reads::AuthRequest => {
                let target = self.described("x-original-uri")?;
                Ok(target.split(|byte| *byte == b'#').next().unwrap_or_default())
            }
            Reads::ExtAuthz | Reads::RateLimitService => Ok(self.target.as_bytes()),
        }
    }

    /// The host. Empty if there is none: a client of HTTP/1.0 need not send one.
    fn host(&self, reads: Reads) -> &'a [u8] {
        match reads {
            Reads::ForwardAuth => self.described("x-forwarded-host").unwrap_or_default(),
            Reads::AuthRequest => self.described("x-original-host").unwrap_or_default(),
            Reads::ExtAuthz | Reads::RateLimitService => self.host,
        }
    }

    /// The last value of a header: a proxy that appends its own puts it there.
    fn described(&self, name: &'static str) -> Result<&'a [u8], MissingHeader> {
        self.headers.values(name).next_back().ok_or(MissingHeader(name))
    }

    /// The entry of `X-Forwarded-For` that is `hops` from the right. If there are fewer, the leftmost one.
    fn forwarded_entry(&self, hops: usize) -> Option<&'a [u8]> {
        let lines = self.headers.values(FORWARDED_FOR).rev();
        lines.flat_map(|line| line.rsplit(|byte| *byte == b',')).take(hops).last()
    }
}

impl ValueSource {
    fn attribute<H: ProxyHeaders + ?Sized>(
        &self,
        reads: Reads,
        asked: &ProxyRequest<'_, H>,
    ) -> Result<Option<String>, MissingHeader> {
        let value = match &self.part {
            Part::Headers => joined(asked.headers, &self.name),
            Part::Query => values::of_query(asked.target(reads)?, &self.name).map(Cow::Owned),
            Part::Cookies => {
                values::of_cookies(asked.headers.values("cookie"), &self.name).map(Cow::Owned)
            }
            Part::Segments { template, fold } => {
                let path = path::of_target(asked.target(reads)?, fold);
                let named = template::matched(template, &path).unwrap_or_default();
                let segment = named.into_iter().find(|(name, _)| *name == self.name);
                segment.map(|(_, segment)| Cow::Owned(segment.as_bytes().to_vec()))
            }
        };
        Ok(match value.filter(|value| !value.is_empty()) {
            Some(value) if self.hash => Some(values::digest(&value)),
            Some(value) => Some(values::value(&value)),
            None => self.default.clone(),
        })
    }
}

impl CostSource {
    fn of<H: ProxyHeaders + ?Sized>(&self, headers: &H) -> u64 {
        match self {
            Self::Fixed(units) => *units,
            Self::Header { name, default } => {
                let given = joined(headers, name).and_then(|value| values::number(&value));
                given.map_or(*default, |units| units.clamp(1, COST_MAX))
            }
        }
    }
}

/// The values of a header, joined with commas. `None` if all are empty.
fn joined<'a, H: ProxyHeaders + ?Sized>(headers: &'a H, name: &str) -> Option<Cow<'a, [u8]>> {
    let mut all = headers.values(name).filter(|value| !value.is_empty());
    let first = all.next()?;
    let joined = all.fold(Cow::Borrowed(first), |mut joined, value| {
        joined.to_mut().extend_from_slice(b",");
        joined.to_mut().extend_from_slice(value);
        joined
    });
    Some(joined)
}
