//! Weir's key in the request of a proxy.

use std::borrow::Cow;

use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The header of the key.
pub(super) const KEY_HEADER: &str = "x-weir-key";

/// The key: `X-Weir-Key`, else the password of `Authorization: Basic`, which clients make of `http://weir:KEY@gate/`. `None`
/// if there is none or more than one `X-Weir-Key`. All other credentials are the client's.
pub(super) fn presented(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let mut keys = headers.get_all(KEY_HEADER).iter();
    match (keys.next(), keys.next()) {
        (Some(key), None) => key.to_str().ok().map(Cow::Borrowed),
        (Some(_), Some(_)) => None,
        (None, _) => password(headers).map(Cow::Owned),
    }
}

fn password(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = text.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    Some(decoded.split_once(':')?.1.to_owned())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn of(headers: &[(&'static str, &'static str)]) -> Option<String> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value);
        }
        presented(&map).map(Cow::into_owned)
    }

    #[test]
    fn key_of_weir_is_distinguished_from_the_clients_credentials() {
        let basic = ("authorization", "Basic d2VpcjprZXk6MQ==");
        assert_eq!(of(&[("x-weir-key", "key")]), Some("key".into()));
        assert_eq!(of(&[("x-weir-key", "key"), basic]), Some("key".into()));
        assert_eq!(of(&[("x-weir-key", "key"), ("x-api-key", "a")]), Some("key".into()));
        assert_eq!(of(&[basic]), Some("key:1".into()));
        assert_eq!(of(&[("x-weir-key", "key"), ("x-weir-key", "key")]), None);
        for none in ["Bearer key", "Basic", "Basic ?", "Basic d2Vpcg==", "d2VpcjprZXk6MQ=="] {
            assert_eq!(of(&[("authorization", none)]), None, "{none}");
        }
        assert_eq!(of(&[("x-api-key", "key")]), None);
    }
}
