//! The refresh token and its cookie.
//!
//! A token is `<session>.<secret>.<tag>`. Only its SHA-256 is stored. It can be used once, and the use of a spent token ends
//! the session. The tag (`macs`) proves that this installation issued it, so forged tokens never reach the database. Scripts
//! cannot read the cookie, and browsers send it from no other site.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use weir_domain::id::SessionId;
use weir_domain::time::Timestamp;

use crate::macs::Macs;
use crate::state::{ControlSettings, Random};

/// A refresh token; never printed.
pub(crate) struct RefreshToken {
    pub(crate) session_id: SessionId,
    text: String,
}

const COOKIE: &str = "__Host-weir_refresh";
const PURPOSE: &str = "refresh token";

impl RefreshToken {
    /// A new token of a session.
    pub(crate) fn new(session_id: SessionId, random: &Random, macs: &Macs) -> Self {
        let secret = URL_SAFE_NO_PAD.encode(random.bytes::<32>());
        let body = format!("{session_id}.{secret}");
        let tag = macs.tag(PURPOSE, &body);
        Self { session_id, text: format!("{body}.{tag}") }
    }

    /// The token in the cookies of the request, if this installation issued it.
    pub(crate) fn of(headers: &HeaderMap, macs: &Macs) -> Option<Self> {
        let cookies =
            headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut ours = cookies
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(name, _)| *name == COOKIE);
        let ((_, text), None) = (ours.next()?, ours.next()) else { return None };
        let (body, tag) = text.rsplit_once('.').filter(|_| text.len() < 200)?;
        let (session_id, _) = body.split_once('.').filter(|_| macs.verifies(PURPOSE, body, tag))?;
        Some(Self { session_id: session_id.parse().ok()?, text: text.to_owned() })
    }

    /// The digest that is stored.
    pub(crate) fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }

    /// The header that sets the cookie.
    pub(crate) fn cookie(&self, lives_ms: i64) -> HeaderValue {
        set_cookie(&self.text, lives_ms / 1000)
    }
}

/// The header that removes the cookie.
pub(crate) fn no_cookie() -> HeaderValue {
    set_cookie("", 0)
}

/// The time at which a session ends if it is not refreshed before.
pub(crate) fn session_end(
    settings: &ControlSettings,
    session_id: SessionId,
    now: Timestamp,
) -> Timestamp {
    // The upper 48 bits of an id are the time of its creation.
    let begun_ms = i64::try_from(session_id.to_u128() >> 80).unwrap_or(i64::MAX);
    let absolute = Timestamp::from_millis(begun_ms).plus_ms(settings.session_absolute_ms);
    now.plus_ms(settings.session_idle_ms).min(absolute)
}

fn set_cookie(value: &str, max_age_s: i64) -> HeaderValue {
    let text =
        format!("{COOKIE}={value}; Path=/; Max-Age={max_age_s}; Secure; HttpOnly; SameSite=Strict");
    HeaderValue::from_str(&text).expect("tokens are letters, digits, `_`, `-` and `.`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::SigningKey;

    #[test]
    fn cookie_comes_back_as_the_same_token() {
        let random = Random::new(|bytes| bytes.fill(9));
        let session_id = SessionId::new(Timestamp::from_millis(5), 1);
        let key = SigningKey::from_seed(&[5; 32]).expect("a seed");
        let macs = Macs::new(&[key]).expect("a key");
        let token = RefreshToken::new(session_id, &random, &macs);
        let set = token.cookie(60_000);
        let set = set.to_str().expect("printable");
        assert!(set.ends_with("; Path=/; Max-Age=60; Secure; HttpOnly; SameSite=Strict"), "{set}");
        let pair = set.split(';').next().expect("never empty");
        let cookies = HeaderValue::from_str(&format!("a=b; {pair}; c=d")).expect("printable");
        let read =
            |cookies| RefreshToken::of(&HeaderMap::from_iter([(header::COOKIE, cookies)]), &macs);
        let made_up = format!("{COOKIE}={session_id}.{0}.{0}", "a".repeat(22));
        assert!(read(HeaderValue::from_str(&made_up).expect("printable")).is_none());
        let twice = HeaderValue::from_str(&format!("{pair}; {pair}x")).expect("printable");
        assert!(read(twice).is_none());
        let read = read(cookies).expect("there");
        assert_eq!((read.session_id, read.digest()), (session_id, token.digest()));
    }

    #[test]
    fn session_ends_when_idle_or_old() {
        let settings = ControlSettings {
            session_idle_ms: 100,
            session_absolute_ms: 250,
            ..ControlSettings::default()
        };
        let session_id = SessionId::new(Timestamp::from_millis(1000), 1);
        let end = |now| session_end(&settings, session_id, Timestamp::from_millis(now)).as_millis();
        assert_eq!(end(1000), 1100);
        assert_eq!(end(1200), 1250);
    }
}
