//! The cookie of a familiar device. It proves that a person signed in to an account with this browser.
//!
//! The value is `<device>.<tag>`, where the tag binds the device to the account. It gives no access: it only selects the
//! budget of that device. It is not stored, so it is valid on every control plane and after a restart.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use weir_domain::email::EmailAddress;

use crate::macs::Macs;
use crate::state::Random;

const COOKIE: &str = "__Host-weir_device";
const PURPOSE: &str = "device";
/// The lifetime of the cookie: 180 days.
const LIVES_S: u64 = 180 * 24 * 60 * 60;

/// The device of the request, if it is familiar to this account.
pub(crate) fn of(headers: &HeaderMap, email: &EmailAddress, macs: &Macs) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut ours = cookies
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(name, _)| *name == COOKIE);
    let ((_, text), None) = (ours.next()?, ours.next()) else { return None };
    let (device, tag) = text.split_once('.').filter(|_| text.len() < 100)?;
    macs.verifies(PURPOSE, &bound(device, email), tag).then(|| device.to_owned())
}

/// The header that makes the browser a familiar device of this account.
pub(crate) fn cookie(email: &EmailAddress, macs: &Macs, random: &Random) -> HeaderValue {
    let device = URL_SAFE_NO_PAD.encode(random.bytes::<16>());
    let tag = macs.tag(PURPOSE, &bound(&device, email));
    let text = format!(
        "{COOKIE}={device}.{tag}; Path=/; Max-Age={LIVES_S}; Secure; HttpOnly; SameSite=Strict"
    );
    HeaderValue::from_str(&text).expect("letters, digits, `_`, `-` and `.`")
}

fn bound(device: &str, email: &EmailAddress) -> String {
    format!("{device} {email}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::SigningKey;

    #[test]
    fn a_device_is_familiar_to_the_account_it_signed_in_to() {
        let key = SigningKey::from_seed(&[5; 32]).expect("a seed");
        let macs = Macs::new(&[key]).expect("a key");
        let random = Random::new(|bytes| bytes.fill(9));
        let email = |text| EmailAddress::parse(text).expect("an address");
        let set = cookie(&email("ada@example.com"), &macs, &random);
        let pair = set.to_str().expect("printable").split(';').next().expect("never empty");
        let headers = |text: &str| {
            let value = HeaderValue::from_str(text).expect("printable");
            HeaderMap::from_iter([(header::COOKIE, value)])
        };
        assert!(of(&headers(pair), &email("ada@example.com"), &macs).is_some());
        assert!(of(&headers(pair), &email("eve@example.com"), &macs).is_none());
        assert!(of(&headers(&format!("{pair}x")), &email("ada@example.com"), &macs).is_none());
        assert!(of(&headers("a=b"), &email("ada@example.com"), &macs).is_none());
    }
}
