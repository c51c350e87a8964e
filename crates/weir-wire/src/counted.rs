//! The attributes that a rule counts by, in JSON: a name, or a name with the form in which its values count.

use serde::{Deserialize, Serialize};
use weir_domain::counted::{Counted, Form, IPV6_PREFIX_DEFAULT};

/// An attribute that a rule counts by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(
    untagged,
    expecting = "must be the name of an attribute, or an object of `attribute`, `as` (`address`, `lower` or `email`) and, with \
                 `address` only, `ipv6_prefix`"
)]
pub enum CountedBody {
    /// The name; each value counts as it is.
    #[cfg_attr(feature = "openapi", schema(title = "CountedAsItIs"))]
    Plain(String),
    /// The name, and the form in which values count.
    #[cfg_attr(feature = "openapi", schema(title = "CountedInForm"))]
    InForm(CountedInForm),
}

/// An attribute with the form in which its values count. Values with one form are one subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(try_from = "InFormFields")]
pub struct CountedInForm {
    /// The name; `^[a-z][a-z0-9_.-]{0,63}$`.
    pub attribute: String,
    /// The form.
    #[serde(rename = "as")]
    pub form: FormName,
    /// The leading bits of an IPv6 address that count, 1 to 128; default 64. Only with `address`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6_prefix: Option<u8>,
}

/// The fields of [`CountedInForm`], with `ipv6_prefix` in any form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InFormFields {
    attribute: String,
    #[serde(rename = "as")]
    form: FormName,
    ipv6_prefix: Option<u8>,
}

impl TryFrom<InFormFields> for CountedInForm {
    type Error = &'static str;

    fn try_from(fields: InFormFields) -> Result<Self, Self::Error> {
        let InFormFields { attribute, form, ipv6_prefix } = fields;
        if ipv6_prefix.is_some() && form != FormName::Address {
            return Err("`ipv6_prefix` is a field of `address` only");
        }
        Ok(Self { attribute, form, ipv6_prefix })
    }
}

/// The form in which the values of an attribute count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FormName {
    /// One value for each address, however it is written, and one for each IPv6 network of `ipv6_prefix` bits. IPv4 addresses
    /// that are mapped to IPv6 are IPv4. A value that is no address counts as it is.
    Address,
    /// Lower case and Unicode NFKC, without blanks around the value.
    Lower,
    /// The form in which Weir stores e-mail addresses of accounts. A value that is no e-mail address counts as with `lower`.
    Email,
}

impl CountedBody {
    /// The name of the attribute.
    pub fn attribute(&self) -> &str {
        match self {
            Self::Plain(attribute) => attribute,
            Self::InForm(counted) => &counted.attribute,
        }
    }

    /// The attribute for people: `ip (IPv6 by /64)`.
    pub fn title(&self) -> String {
        match Counted::from(self.clone()) {
            Counted { attribute, form: Form::Plain } => attribute,
            Counted { attribute, form: Form::Lower } => format!("{attribute} (in lower case)"),
            Counted { attribute, form: Form::Email } => format!("{attribute} (as e-mail address)"),
            Counted { attribute, form: Form::Address { ipv6_prefix } } => {
                format!("{attribute} (IPv6 by /{ipv6_prefix})")
            }
        }
    }
}

impl From<&str> for CountedBody {
    fn from(attribute: &str) -> Self {
        Self::Plain(attribute.to_owned())
    }
}

impl PartialEq<&str> for CountedBody {
    fn eq(&self, attribute: &&str) -> bool {
        matches!(self, Self::Plain(own) if own == attribute)
    }
}

impl From<CountedBody> for Counted {
    fn from(body: CountedBody) -> Self {
        let CountedInForm { attribute, form, ipv6_prefix } = match body {
            CountedBody::Plain(attribute) => return attribute.into(),
            CountedBody::InForm(counted) => counted,
        };
        let form = match form {
            FormName::Address => {
                Form::Address { ipv6_prefix: ipv6_prefix.unwrap_or(IPV6_PREFIX_DEFAULT) }
            }
            FormName::Lower => Form::Lower,
            FormName::Email => Form::Email,
        };
        Self { attribute, form }
    }
}

impl From<Counted> for CountedBody {
    fn from(Counted { attribute, form }: Counted) -> Self {
        let (form, ipv6_prefix) = match form {
            Form::Plain => return Self::Plain(attribute),
            Form::Address { ipv6_prefix } => (FormName::Address, Some(ipv6_prefix)),
            Form::Lower => (FormName::Lower, None),
            Form::Email => (FormName::Email, None),
        };
        Self::InForm(CountedInForm { attribute, form, ipv6_prefix })
    }
}
