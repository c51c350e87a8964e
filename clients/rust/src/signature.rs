//! The signature of the messages that Weir sends to webhooks.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use sha2::Sha256;

/// The greatest difference between the clocks of Weir and of the receiver.
pub const SIGNATURE_TOLERANCE: Duration = Duration::from_secs(300);

/// More than Weir sends: one, and two while a secret is replaced.
const SIGNATURES_MAX: usize = 8;

/// The error of a text that is not the secret of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongSecret;

impl std::fmt::Display for WrongSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("secret: the secret of a webhook is needed")
    }
}

impl std::error::Error for WrongSecret {}

/// Whether Weir sent this message (a deferred job or an alert) lately and nobody changed it: whether one of its signatures was made with the
/// secret of the webhook. `body` is what arrived, not yet parsed. A message can arrive twice: remember its `webhook-id`.
pub fn is_from_weir(secret: &str, headers: &HeaderMap, body: &[u8]) -> Result<bool, WrongSecret> {
    is_from_weir_at(SystemTime::now(), secret, headers, body)
}

/// As [`is_from_weir`], at this time.
pub fn is_from_weir_at(
    now: SystemTime,
    secret: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<bool, WrongSecret> {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap_or(secret));
    let key = key.ok().filter(|key| !key.is_empty()).ok_or(WrongSecret)?;
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(id), Some(timestamp), Some(signatures)) =
        (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"))
    else {
        return Ok(false);
    };
    if !is_recent(now, timestamp) {
        return Ok(false);
    }
    let mut code = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| WrongSecret)?;
    code.update(format!("{id}.{timestamp}.").as_bytes());
    code.update(body);
    let given = signatures.split(' ').take(SIGNATURES_MAX);
    let mut given = given.filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok());
    Ok(given.any(|signature| code.clone().verify_slice(&signature).is_ok()))
}

fn is_recent(now: SystemTime, timestamp: &str) -> bool {
    let digits = !timestamp.is_empty() && timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let Some(sent_s) = timestamp.parse::<u64>().ok().filter(|_| digits) else { return false };
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    now.abs_diff(Duration::from_secs(sent_s)) <= SIGNATURE_TOLERANCE
}
