//! The sources of the attributes of a profile.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use weir_domain::profile::{self, AttributeSource, Part, ValueSource};

/// The source of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "from", rename_all = "snake_case", try_from = "AttributeFields")]
pub enum AttributeBody {
    /// The address of the client.
    Address {
        /// The number of leading bits of an IPv6 address that identify a client, so that a network counts as one; default 64.
        #[serde(default = "ipv6_network")]
        ipv6_prefix: u8,
    },
    /// The method.
    Method,
    /// The path without the query, decoded once, without empty segments and dot segments.
    Path {
        /// The differences between paths that are ignored as well: `case`, `parameters` (such as `;a=b`) and `trailing_slash`.
        /// All three if left out.
        #[serde(default = "every_fold", skip_serializing_if = "is_every_fold")]
        fold: BTreeSet<PathFold>,
        /// Templates such as `/users/{id}/*`, at most 32. The attribute is the first one that the path matches: `{id}` matches
        /// one segment, and `*` at the end all others.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        templates: Vec<String>,
        /// The attribute of a path that matches none of the templates; the path if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
    },
    /// The host in lower case, without a port.
    Host,
    /// A header.
    Header {
        /// The name of the header.
        name: String,
        /// Whether the attribute is the SHA-256 of the value. Headers with credentials must be hashed.
        #[serde(default)]
        hash: bool,
        /// The attribute of a request without the header.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
    },
    /// A parameter of the query, decoded once. Different values of one parameter are counted as `repeated`.
    Query {
        /// The name of the parameter, from 1 to 64 bytes. Capitals do not matter.
        name: String,
        /// Whether the attribute is the SHA-256 of the value. Parameters whose names say that they are a credential must be hashed.
        #[serde(default)]
        hash: bool,
        /// The attribute of a request without the parameter.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
    },
    /// A cookie, of the header `Cookie` that the proxy passes on. Different values of one cookie are counted as `repeated`.
    Cookie {
        /// The name of the cookie, from 1 to 64 bytes. Capitals do not matter.
        name: String,
        /// Whether the attribute is the SHA-256 of the value. Cookies must be hashed.
        #[serde(default)]
        hash: bool,
        /// The attribute of a request without the cookie.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
    },
    /// A segment of the path.
    Segment {
        /// A template of the path, such as `/users/{id}/*`.
        path: String,
        /// The name of the segment in the template, such as `id`.
        name: String,
        /// As of `path`.
        #[serde(default = "every_fold", skip_serializing_if = "is_every_fold")]
        fold: BTreeSet<PathFold>,
        /// Whether the attribute is the SHA-256 of the segment.
        #[serde(default)]
        hash: bool,
        /// The attribute of a request whose path does not match.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
    },
}

/// A difference between paths that most applications ignore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PathFold {
    /// `/Login` is `/login`.
    Case,
    /// `/login;a=b` is `/login`.
    Parameters,
    /// `/login/` is `/login`.
    TrailingSlash,
}

/// All fields of all sources. They are read first, so that each error names the path of its field.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AttributeFields {
    from: SourceName,
    ipv6_prefix: Option<u8>,
    fold: Option<Vec<PathFold>>,
    templates: Option<Vec<String>>,
    path: Option<String>,
    name: Option<String>,
    hash: Option<bool>,
    default: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SourceName {
    Address,
    Method,
    Path,
    Host,
    Header,
    Query,
    Cookie,
    Segment,
}

impl From<AttributeBody> for AttributeSource {
    fn from(body: AttributeBody) -> Self {
        let folds = |fold: BTreeSet<PathFold>| fold.into_iter().map(Into::into).collect();
        let value =
            |part, name, hash, default| Self::Value(ValueSource { part, name, hash, default });
        match body {
            AttributeBody::Address { ipv6_prefix } => Self::Address { ipv6_prefix },
            AttributeBody::Method => Self::Method,
            AttributeBody::Path { fold, templates, default } => {
                Self::Path { fold: folds(fold), templates, default }
            }
            AttributeBody::Host => Self::Host,
            AttributeBody::Header { name, hash, default } => {
                value(Part::Headers, name, hash, default)
            }
            AttributeBody::Query { name, hash, default } => value(Part::Query, name, hash, default),
            AttributeBody::Cookie { name, hash, default } => {
                value(Part::Cookies, name, hash, default)
            }
            AttributeBody::Segment { path, name, fold, hash, default } => {
                value(Part::Segments { template: path, fold: folds(fold) }, name, hash, default)
            }
        }
    }
}

impl From<PathFold> for profile::PathFold {
    fn from(body: PathFold) -> Self {
        match body {
            PathFold::Case => Self::Case,
            PathFold::Parameters => Self::Parameters,
            PathFold::TrailingSlash => Self::TrailingSlash,
        }
    }
}

impl TryFrom<AttributeFields> for AttributeBody {
    type Error = String;

    fn try_from(mut fields: AttributeFields) -> Result<Self, String> {
        fields.without_effect()?;
        let hash = fields.hash.unwrap_or(false);
        let default = fields.default.take();
        let fold = fields.fold.as_deref().map_or_else(every_fold, set);
        let mut name = || fields.name.take().ok_or("`name` is missing".to_owned());
        Ok(match fields.from {
            SourceName::Address => {
                Self::Address { ipv6_prefix: fields.ipv6_prefix.unwrap_or_else(ipv6_network) }
            }
            SourceName::Method => Self::Method,
            SourceName::Path => {
                Self::Path { fold, templates: fields.templates.unwrap_or_default(), default }
            }
            SourceName::Host => Self::Host,
            SourceName::Header => Self::Header { name: name()?, hash, default },
            SourceName::Query => Self::Query { name: name()?, hash, default },
            SourceName::Cookie => Self::Cookie { name: name()?, hash, default },
            SourceName::Segment => {
                let path = fields.path.take().ok_or("`path` is missing")?;
                Self::Segment { path, name: name()?, fold, hash, default }
            }
        })
    }
}

impl AttributeFields {
    /// An error if a field has no effect with this source.
    fn without_effect(&self) -> Result<(), String> {
        use SourceName::{Address, Cookie, Header, Path, Query, Segment};
        let named: &[_] = &[Header, Query, Cookie, Segment];
        let of_default: &[_] = &[Header, Query, Cookie, Segment, Path];
        let fields: [(&str, bool, &[SourceName]); 7] = [
            ("ipv6_prefix", self.ipv6_prefix.is_some(), &[Address]),
            ("fold", self.fold.is_some(), &[Path, Segment]),
            ("templates", self.templates.is_some(), &[Path]),
            ("path", self.path.is_some(), &[Segment]),
            ("name", self.name.is_some(), named),
            ("hash", self.hash.is_some(), named),
            ("default", self.default.is_some(), of_default),
        ];
        for (field, is_given, sources) in fields {
            if is_given && !sources.contains(&self.from) {
                let words: Vec<_> = sources.iter().map(|source| source.quoted()).collect();
                return Err(format!("`{field}` is a field of {} only", words.join(", ")));
            }
        }
        match &self.fold {
            Some(listed) if set(listed).len() < listed.len() => {
                Err("`fold` must list each difference once".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl SourceName {
    const fn quoted(self) -> &'static str {
        match self {
            Self::Address => "`address`",
            Self::Method => "`method`",
            Self::Path => "`path`",
            Self::Host => "`host`",
            Self::Header => "`header`",
            Self::Query => "`query`",
            Self::Cookie => "`cookie`",
            Self::Segment => "`segment`",
        }
    }
}

const fn ipv6_network() -> u8 {
    64
}

fn every_fold() -> BTreeSet<PathFold> {
    [PathFold::Case, PathFold::Parameters, PathFold::TrailingSlash].into()
}

fn set(fold: &[PathFold]) -> BTreeSet<PathFold> {
    fold.iter().copied().collect()
}

fn is_every_fold(fold: &BTreeSet<PathFold>) -> bool {
    *fold == every_fold()
}
