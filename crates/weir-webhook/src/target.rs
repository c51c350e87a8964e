//! The target of a webhook: a URL that is checked before anything is sent there.

use std::net::IpAddr;

use reqwest::Url;

use crate::address::is_public;

/// A URL that passed all checks that are possible before its name is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target(Url);

/// The reach of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// Encrypted, to the public internet.
    #[default]
    Public,
    /// Anywhere, also unencrypted. For development.
    Anywhere,
}

/// The reason why a text is not a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTarget {
    /// Not a URL, or too long.
    #[error("must be a URL such as `https://example.com/hooks/weir`, at most 2000 characters long")]
    Form,
    /// Not HTTP, or not encrypted.
    #[error("must begin with `https://`")]
    Scheme,
    /// Credentials in the URL, which every member would see.
    #[error("must not hold a name or a password: check the signature instead")]
    Credentials,
    /// An address in a private network.
    #[error("must be on the public internet: this address is private, local or reserved")]
    NotPublic,
    /// A name that only a private network resolves.
    #[error("must be on the public internet: this name is known to a private network only")]
    PrivateName,
    /// A port of a service that does not use HTTP.
    #[error("must use port 443, or one from 1024 up")]
    Port,
}

const CHARS_MAX: usize = 2000;
/// Suffixes of names that are never public.
const PRIVATE_SUFFIXES: [&str; 9] =
    ["localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "arpa"];

impl Target {
    /// Parses a URL that a person typed.
    pub fn parse(text: &str, reach: Reach) -> Result<Self, InvalidTarget> {
        if text.chars().count() > CHARS_MAX || text.chars().any(char::is_control) {
            return Err(InvalidTarget::Form);
        }
        let mut url = Url::parse(text).map_err(|_| InvalidTarget::Form)?;
        match (url.scheme(), reach) {
            ("https", _) | ("http", Reach::Anywhere) => {}
            _ => return Err(InvalidTarget::Scheme),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidTarget::Credentials);
        }
        let host = url.host_str().ok_or(InvalidTarget::Form)?;
        if reach == Reach::Public {
            host_is_public(host)?;
            if !matches!(url.port_or_known_default(), Some(443 | 1024..)) {
                return Err(InvalidTarget::Port);
            }
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    /// The scheme, host and port of a stored URL. They contain no secret of the receiver.
    pub fn origin_of(stored: &str) -> Option<String> {
        let url = Url::parse(stored).ok()?;
        url.host_str()?;
        Some(url.origin().ascii_serialization())
    }

    /// The URL, in its normal form.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn url(&self) -> Url {
        self.0.clone()
    }
}

/// Checks a host in the form of [`Url::host_str`], which has already turned numbers of any spelling into an address.
fn host_is_public(host: &str) -> Result<(), InvalidTarget> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        return if is_public(address) { Ok(()) } else { Err(InvalidTarget::NotPublic) };
    }
    let name = bare.trim_end_matches('.');
    let last = name.rsplit('.').next().unwrap_or_default();
    if last == name || PRIVATE_SUFFIXES.contains(&last) {
        return Err(InvalidTarget::PrivateName);
    }
    Ok(())
}
