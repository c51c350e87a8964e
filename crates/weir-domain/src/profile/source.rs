//! The source of an attribute, and its bounds.

use std::collections::BTreeSet;

use super::{HEADER_NAME_BYTES_MAX, PathFold, TEMPLATES_MAX, template};
use crate::names::{self, InvalidField};

/// The source of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeSource {
    /// The address of the client. IPv6 addresses are reduced to a network of `ipv6_prefix` bits.
    Address {
        /// From 1 to 128.
        ipv6_prefix: u8,
    },
    /// The method.
    Method,
    /// The path without the query, decoded once and in its normal form.
    Path {
        /// The differences that are ignored as well.
        fold: BTreeSet<PathFold>,
        /// The attribute is the first template that the path matches, so that paths with ids in them have one value.
        templates: Vec<String>,
        /// The attribute of a path that matches no template. Without a default, it is the path.
        default: Option<String>,
    },
    /// The host in lower case, without a port.
    Host,
    /// A value with a name.
    Value(ValueSource),
}

/// A value with a name as the source of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSource {
    /// The part of the request that has the value.
    pub part: Part,
    /// The name of the value in this part.
    pub name: String,
    /// Whether the attribute is the digest of the value.
    pub hash: bool,
    /// The attribute of a request without the value. Without a default, the request lacks the attribute.
    pub default: Option<String>,
}

/// A part of a request that has values with names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The headers that the proxy passes on.
    Headers,
    /// The parameters of the query.
    Query,
    /// The cookies, of the header `Cookie` that the proxy passes on.
    Cookies,
    /// The segments of the path, named by a template such as `/users/{id}/*`.
    Segments {
        /// The template.
        template: String,
        /// The differences between paths that are ignored.
        fold: BTreeSet<PathFold>,
    },
}

/// The header of Weir's own key.
const KEY_HEADER: &str = "x-weir-key";
/// Headers that clients can send, and of which a profile believes one family. The other sources read them.
const DESCRIPTIONS: [&str; 10] = [
    "forwarded",
    "host",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-method",
    "x-forwarded-uri",
    "x-original-host",
    "x-original-method",
    "x-original-uri",
    "x-original-url",
];
/// Headers that hold a credential of the client.
const CREDENTIALS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "x-api-key"];
/// Parameters of a query that hold a credential of the client.
const CREDENTIAL_PARAMETERS: [&str; 10] = [
    "access_token",
    "api-key",
    "api_key",
    "apikey",
    "auth",
    "key",
    "password",
    "secret",
    "sig",
    "token",
];

impl AttributeSource {
    pub(super) fn normalise(&mut self, attribute: &str) -> Option<InvalidField> {
        let shown: String = attribute.chars().take(64).collect();
        let field = format!("attributes.{}", shown.escape_debug());
        if let Err(reason) = names::attribute(attribute) {
            return Some(InvalidField::new(field, format!("the name {reason}")));
        }
        match self {
            Self::Address { ipv6_prefix } if !(1..=128).contains(ipv6_prefix) => {
                Some(InvalidField::new(format!("{field}.ipv6_prefix"), "must be from 1 to 128"))
            }
            Self::Path { fold, templates, default } => {
                let listed = || templates.iter().enumerate();
                let wrong =
                    listed().find_map(|(at, text)| Some((at, template::wrong(text, fold)?)));
                if let Some((at, reason)) = wrong {
                    return Some(InvalidField::new(format!("{field}.templates[{at}]"), reason));
                }
                let count = templates.len();
                if count > TEMPLATES_MAX {
                    let reason = format!("must hold at most {TEMPLATES_MAX} templates");
                    return Some(InvalidField::new(format!("{field}.templates"), reason));
                }
                let default = default.as_deref()?;
                let reason = match names::value(default) {
                    Ok(()) if count == 0 => "needs `templates`",
                    found => found.err()?,
                };
                Some(InvalidField::new(format!("{field}.default"), reason))
            }
            Self::Value(value) => value.normalise(&field),
            Self::Address { .. } | Self::Method | Self::Host => None,
        }
    }
}

impl ValueSource {
    fn normalise(&mut self, field: &str) -> Option<InvalidField> {
        let wrong = |part: &str, reason: &str| {
            Some(InvalidField::new(format!("{field}.{part}"), reason.to_owned()))
        };
        match &self.part {
            Part::Headers => {
                self.name.make_ascii_lowercase();
                if let Some(invalid) = invalid_header(&format!("{field}.name"), &self.name) {
                    return Some(invalid);
                }
            }
            Part::Query | Part::Cookies => {
                let is_name = (1..=HEADER_NAME_BYTES_MAX).contains(&self.name.len())
                    && !self.name.chars().any(char::is_control);
                if !is_name {
                    let reason =
                        format!("must have from 1 to {HEADER_NAME_BYTES_MAX} bytes on one line");
                    return wrong("name", &reason);
                }
            }
            Part::Segments { template, fold } => {
                if let Some(reason) = template::wrong(template, fold) {
                    return wrong("path", &reason);
                }
                if !template::names(template).any(|name| name == self.name) {
                    let reason = "must be a name of `path`, such as `id` of `/users/{id}`";
                    return wrong("name", reason);
                }
            }
        }
        if !self.hash && self.holds_a_credential() {
            let reason = format!("must be true: `{}` holds a credential", self.name);
            return wrong("hash", &reason);
        }
        wrong("default", names::value(self.default.as_deref()?).err()?)
    }

    fn holds_a_credential(&self) -> bool {
        let is_one_of =
            |names: &[&str]| names.iter().any(|name| self.name.eq_ignore_ascii_case(name));
        match &self.part {
            Part::Headers => is_one_of(&CREDENTIALS),
            Part::Query => is_one_of(&CREDENTIAL_PARAMETERS),
            Part::Cookies => true,
            Part::Segments { .. } => false,
        }
    }
}

/// The reason why a header, in lower case, cannot be the source of a value.
pub(super) fn invalid_header(field: &str, name: &str) -> Option<InvalidField> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !(1..=HEADER_NAME_BYTES_MAX).contains(&name.len()) || !name.bytes().all(is_token) {
        let reason = format!("must be the name of a header, of 1 to {HEADER_NAME_BYTES_MAX} bytes");
        return Some(InvalidField::new(field, reason));
    }
    if name == KEY_HEADER {
        return Some(InvalidField::new(field, format!("cannot be `{KEY_HEADER}`, Weir's own key")));
    }
    DESCRIPTIONS.contains(&name).then(|| {
        let reason = format!("cannot be `{name}`: use `address`, `method`, `path` or `host`");
        InvalidField::new(field, reason)
    })
}
