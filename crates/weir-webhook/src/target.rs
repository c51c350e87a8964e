//! The target of a webhook: a URL that is checked before anything is sent there.

use std::net::IpAddr;

use reqwest::Url;

use crate::address::is_public;

/// A URL that messages can go to, as far as this is known before its name is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target(Url);

/// The reach of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// To the public internet, encrypted.
    #[default]
    Public,
    /// Anywhere, also in the clear: for development.
    Anywhere,
}

/// The reason why a text is no target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTarget {
    /// Not a URL at all, or a very long one.
    #[error("must be a URL such as `https://example.com/hooks/weir`, at most 2000 characters long")]
    Form,
    /// Not HTTP, or not encrypted.
    #[error("must begin with `https://`")]
    Scheme,
    /// Credentials in the URL, which would be shown to every member.
    #[error("must not hold a name or a password: check the signature instead")]
    Credentials,
    /// The address of something in a private network.
    #[error("must be on the public internet: this address is private, local or reserved")]
    NotPublic,
    /// A name that only a private network knows.
    #[error("must be on the public internet: this name is known to a private network only")]
    PrivateName,
    /// A port of something that does not speak HTTP.
    #[error("must use port 443, or one from 1024 up")]
    Port,
}

const CHARS_MAX: usize = 2000;
/// Names that no public server answers to.
const PRIVATE_SUFFIXES: [&str; 9] =
    ["localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "arpa"];

impl Target {
    /// Reads a URL as it was typed.
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

    /// Scheme, host and port of a stored URL: the part that holds no secret of the receiver.
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

/// `host` in the form of [`Url::host_str`], where numbers in any spelling have become an address.
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
