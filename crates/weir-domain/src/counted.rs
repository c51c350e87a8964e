//! The attributes that a rule counts by, and the normal form in which it counts their values.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

use crate::address;
#[cfg(feature = "regex")]
use crate::email::{self, EmailAddress};

/// The bits of an IPv6 address that [`Form::Address`] counts by default: the network that one customer has.
pub const IPV6_PREFIX_DEFAULT: u8 = 64;

/// An attribute that a rule counts by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Counted {
    /// The name of the attribute.
    pub attribute: String,
    /// The form in which its values count.
    pub form: Form,
}

/// The normal form of the values of an attribute. Values with one normal form are one subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Form {
    /// Each value counts as it is.
    #[default]
    Plain,
    /// IPv4 addresses that are mapped to IPv6 count as IPv4, and IPv6 addresses by their network. A value that is no address
    /// counts as it is.
    Address {
        /// The bits of an IPv6 network.
        ipv6_prefix: u8,
    },
    /// NFKC in lower case, without blanks around it.
    Lower,
    /// The form in which accounts store e-mail addresses. A value that is no address counts as with [`Form::Lower`].
    Email,
}

impl Counted {
    /// The form of a value.
    #[inline]
    pub fn form_of<'a>(&self, value: &'a str) -> Cow<'a, str> {
        if self.form == Form::Plain { Cow::Borrowed(value) } else { self.form.of(value) }
    }
}

impl From<&str> for Counted {
    fn from(attribute: &str) -> Self {
        attribute.to_owned().into()
    }
}

impl From<String> for Counted {
    fn from(attribute: String) -> Self {
        Self { attribute, form: Form::Plain }
    }
}

impl AsRef<str> for Counted {
    fn as_ref(&self) -> &str {
        &self.attribute
    }
}

impl PartialEq<str> for Counted {
    fn eq(&self, attribute: &str) -> bool {
        self.attribute == attribute && self.form == Form::Plain
    }
}

impl PartialEq<&str> for Counted {
    fn eq(&self, attribute: &&str) -> bool {
        *self == **attribute
    }
}

impl Form {
    /// The form of a value. Allocates only if it differs from the value.
    pub fn of(self, value: &str) -> Cow<'_, str> {
        match self {
            Self::Plain => Cow::Borrowed(value),
            Self::Address { ipv6_prefix } => address(value, ipv6_prefix),
            #[cfg(not(feature = "regex"))]
            Self::Lower | Self::Email => Cow::Borrowed(value),
            #[cfg(feature = "regex")]
            Self::Lower => lower(value),
            #[cfg(feature = "regex")]
            Self::Email => match EmailAddress::parse(value.trim()) {
                Ok(email) if email.as_str() != value => Cow::Owned(email.into_string()),
                Ok(_) => Cow::Borrowed(value),
                Err(_) => lower(value),
            },
        }
    }
}

fn address(value: &str, ipv6_prefix: u8) -> Cow<'_, str> {
    let text = value.trim();
    let (address, bits) = match text.split_once('/') {
        None => (address::of_forwarded_entry(text), 128),
        Some((address, bits)) => {
            let bits = bits.parse().ok().filter(|bits| *bits <= 128);
            (address.parse().ok().filter(IpAddr::is_ipv6), bits.unwrap_or(u8::MAX))
        }
    };
    let normal = match address {
        Some(IpAddr::V4(address)) => address.to_string(),
        Some(IpAddr::V6(address)) if bits <= 128 => network(address, bits.min(ipv6_prefix)),
        _ => return Cow::Borrowed(value),
    };
    if normal == value { Cow::Borrowed(value) } else { Cow::Owned(normal) }
}

fn network(address: Ipv6Addr, bits: u8) -> String {
    let network = address::ipv6_network(address, bits);
    if bits == 128 { network.to_string() } else { format!("{network}/{bits}") }
}

#[cfg(feature = "regex")]
fn lower(value: &str) -> Cow<'_, str> {
    let text = value.trim();
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    let folded = email::folded(text);
    let trimmed = folded.trim();
    Cow::Owned(if trimmed.len() == folded.len() { folded } else { trimmed.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_address_have_one_form() {
        let form = |bits| Form::Address { ipv6_prefix: bits };
        for (bits, value, normal) in [
            (64, "192.0.2.7", "192.0.2.7"),
            (64, "::ffff:192.0.2.7", "192.0.2.7"),
            (64, " ::ffff:c000:207 ", "192.0.2.7"),
            (64, "2001:db8:1:2::7", "2001:db8:1:2::/64"),
            (64, "2001:DB8:1:2:0:ffff::1", "2001:db8:1:2::/64"),
            (64, "[2001:db8:1:2::7]:443", "2001:db8:1:2::/64"),
            (64, "2001:db8:1:2::/64", "2001:db8:1:2::/64"),
            (64, "2001:db8:1:2:3::/80", "2001:db8:1:2::/64"),
            (64, "2001:db8::/32", "2001:db8::/32"),
            (56, "2001:db8:1:2ff::7", "2001:db8:1:200::/56"),
            (1, "ffff::1", "8000::/1"),
            (128, "2001:db8::0:7", "2001:db8::7"),
            (128, "2001:db8::7/128", "2001:db8::7"),
            (64, "2001:db8::7/129", "2001:db8::7/129"),
            (64, "192.0.2.0/24", "192.0.2.0/24"),
            (64, "localhost", "localhost"),
            (64, "", ""),
        ] {
            assert_eq!(form(bits).of(value), normal, "{value}");
            assert_eq!(form(bits).of(normal), normal, "{value}");
        }
    }

    #[test]
    fn spellings_of_one_account_have_one_form() {
        for text in ["Kate@EXAMPLE.com", " kate@example.com ", "\u{212a}ate@example\u{ff0e}com"] {
            assert_eq!(Form::Email.of(text), "kate@example.com", "{text:?}");
            assert_eq!(Form::Lower.of(text), "kate@example.com", "{text:?}");
        }
        for (text, normal) in
            [("Kate", "kate"), ("\u{a0}Jo\u{308}rg\u{a0}", "j\u{f6}rg"), ("", ""), ("a b", "a b")]
        {
            assert_eq!(Form::Email.of(text), normal, "{text:?}");
            assert_eq!(Form::Lower.of(text), normal, "{text:?}");
        }
        assert_eq!(Form::Plain.of(" Kate"), " Kate");
    }

    #[test]
    fn a_value_in_its_form_is_not_copied() {
        for (form, value) in [
            (Form::Lower, "kate"),
            (Form::Address { ipv6_prefix: 64 }, "192.0.2.7"),
            (Form::Address { ipv6_prefix: 64 }, "2001:db8::/64"),
        ] {
            assert!(matches!(form.of(value), Cow::Borrowed(_)), "{value}");
        }
    }
}
