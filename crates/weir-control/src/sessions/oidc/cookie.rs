//! The cookie that binds a sign-in at the provider to the browser that began it.
//!
//! The value is `<expiry>.<state>.<nonce>.<verifier>.<next>.<tag>`; the tag (`macs`) proves that this installation wrote it.
//! Browsers send the cookie with the redirect from the provider (`SameSite=Lax`), and scripts cannot read it.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use weir_domain::time::Timestamp;
use weir_oidc::Transaction;

use crate::macs::Macs;
use crate::state::Random;

/// A sign-in that a browser began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) transaction: Transaction,
    /// The path to continue to.
    pub(super) next: String,
}

const COOKIE: &str = "__Host-weir_oidc";
const PURPOSE: &str = "openid connect";
/// The time for which a person can stay at the provider.
pub(super) const LIVES_S: u32 = 10 * 60;
/// The most bytes of a path to continue to.
const NEXT_BYTES_MAX: usize = 500;
const COOKIE_BYTES_MAX: usize = 2000;

impl Begun {
    /// A new sign-in. A path that is too long is dropped.
    pub(super) fn new(next: Option<String>, random: &Random) -> Self {
        let secret = || URL_SAFE_NO_PAD.encode(random.bytes::<32>());
        let transaction = Transaction { state: secret(), nonce: secret(), verifier: secret() };
        let next = next.filter(|next| next.len() <= NEXT_BYTES_MAX).unwrap_or_default();
        Self { transaction, next }
    }

    /// The header that sets the cookie.
    pub(super) fn cookie(&self, now: Timestamp, macs: &Macs) -> HeaderValue {
        let Transaction { state, nonce, verifier } = &self.transaction;
        let expires_ms = now.plus_ms(i64::from(LIVES_S) * 1000).as_millis();
        let next = URL_SAFE_NO_PAD.encode(&self.next);
        let body = format!("{expires_ms}.{state}.{nonce}.{verifier}.{next}");
        let tag = macs.tag(PURPOSE, &body);
        set(&format!("{body}.{tag}"), LIVES_S)
    }

    /// The sign-in of the request's cookie, if this installation wrote it and it has not expired.
    pub(super) fn of(headers: &HeaderMap, now: Timestamp, macs: &Macs) -> Option<Self> {
        let cookies =
            headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut ours = cookies
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(name, _)| *name == COOKIE);
        let ((_, text), None) = (ours.next()?, ours.next()) else { return None };
        let (body, tag) = text.rsplit_once('.').filter(|_| text.len() <= COOKIE_BYTES_MAX)?;
        let mut parts = Some(body).filter(|_| macs.verifies(PURPOSE, body, tag))?.split('.');
        let expires_ms: i64 = parts.next()?.parse().ok()?;
        if now.as_millis() >= expires_ms {
            return None;
        }
        let mut secret = || parts.next().map(str::to_owned);
        let transaction = Transaction { state: secret()?, nonce: secret()?, verifier: secret()? };
        let next = URL_SAFE_NO_PAD.decode(parts.next()?).ok()?;
        Some(Self { transaction, next: String::from_utf8(next).ok()? })
    }

    /// Whether the provider returned the state of this sign-in.
    pub(super) fn has_state(&self, state: &str) -> bool {
        use subtle::ConstantTimeEq as _;
        self.transaction.state.as_bytes().ct_eq(state.as_bytes()).into()
    }
}

/// The header that removes the cookie.
pub(super) fn none() -> HeaderValue {
    set("", 0)
}

fn set(value: &str, max_age_s: u32) -> HeaderValue {
    let text =
        format!("{COOKIE}={value}; Path=/; Max-Age={max_age_s}; Secure; HttpOnly; SameSite=Lax");
    HeaderValue::from_str(&text).expect("numbers, letters, `_`, `-` and `.`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::SigningKey;

    #[test]
    fn cookie_returns_as_the_same_sign_in_until_it_expires_and_cannot_be_made_by_others() {
        let macs = |seed| {
            let key = SigningKey::from_seed(&[seed; 32]).expect("a seed");
            Macs::new(&[key]).expect("a key")
        };
        let random = Random::new(|bytes| bytes.fill(9));
        let now = Timestamp::from_millis(1_000_000);
        let begun = Begun::new(Some("/t/x?a=b;c".to_owned()), &random);
        let set = begun.cookie(now, &macs(1));
        let set = set.to_str().expect("printable");
        assert!(set.ends_with("; Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax"), "{set}");
        let pair = set.split(';').next().expect("never empty");
        let read = |text: &str, now, macs: &Macs| {
            let value = HeaderValue::from_str(text).expect("printable");
            Begun::of(&HeaderMap::from_iter([(header::COOKIE, value)]), now, macs)
        };
        assert_eq!(read(&format!("a=b; {pair}"), now.plus_ms(599_999), &macs(1)), Some(begun));
        assert_eq!(read(pair, now.plus_ms(600_000), &macs(1)), None, "expired");
        assert_eq!(read(pair, now, &macs(2)), None, "of another installation");
        assert_eq!(read(&format!("{pair}; {pair}"), now, &macs(1)), None, "two of them");
        assert_eq!(read(&pair.replace("weir_oidc=1", "weir_oidc=2"), now, &macs(1)), None);
        let long = Begun::new(Some("/".repeat(501)), &random);
        assert_eq!(long.next, "");
    }
}
