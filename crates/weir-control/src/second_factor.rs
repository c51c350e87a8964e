//! The second factor: codes of an authenticator (RFC 6238: SHA-1, six digits, 30 seconds) and recovery codes.
//!
//! A code of the step before or after the present one is accepted too. Each step is accepted once, and never a step before one
//! that was accepted, so a code that was seen cannot be used again. The secret is encrypted, and recovery codes are stored as digests.

use aws_lc_rs::aead::NONCE_LEN;
use sha2::{Digest as _, Sha256};
use totp_rs::{Builder, Secret, Totp};
use weir_domain::id::UserId;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{SecondFactorRow, Tx};
use weir_wire::problem::ErrorCode;
use weir_wire::second_factors::{NewSecondFactor, RecoveryCodes};
use weir_wire::sessions::Code;

use crate::error::ControlError;
use crate::login_throttle;
use crate::login_throttle::Attempt;
use crate::state::ControlState;

/// The length of a step, in seconds.
const STEP_S: u64 = 30;
/// The length of a secret: 160 bits, as RFC 4226 recommends.
const SECRET_BYTES: usize = 20;
const RECOVERY_CODES: usize = 10;
/// 80 bits: sixteen letters of Base32.
const RECOVERY_CODE_BYTES: usize = 10;
const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// A new secret, sealed for its owner, and its form for people.
pub(crate) fn new_secret(
    control: &ControlState,
    user_id: UserId,
    email: &str,
) -> (Vec<u8>, NewSecondFactor) {
    let secret: [u8; SECRET_BYTES] = control.random.bytes();
    let base32 = base32(&secret);
    let account: String =
        percent_encoding::utf8_percent_encode(email, percent_encoding::NON_ALPHANUMERIC)
            .to_string();
    let url = format!(
        "otpauth://totp/Weir:{account}?secret={base32}&issuer=Weir&algorithm=SHA1&digits=6&period={STEP_S}"
    );
    (seal(control, user_id, &secret), NewSecondFactor { secret: base32, url })
}

/// New recovery codes and their digests.
pub(crate) fn new_recovery_codes(control: &ControlState) -> (Vec<[u8; 32]>, RecoveryCodes) {
    let code = |_| {
        let letters = base32(&control.random.bytes::<RECOVERY_CODE_BYTES>());
        let groups: Vec<_> = letters.as_bytes().chunks(4).map(String::from_utf8_lossy).collect();
        groups.join("-").to_lowercase()
    };
    let codes: Vec<String> = (0..RECOVERY_CODES).map(code).collect();
    let digests = codes.iter().map(|code| digest(&letters(code))).collect();
    (digests, RecoveryCodes { recovery_codes: codes })
}

/// The step of a code of the authenticator, if it is right at this time.
pub(crate) fn step_of(
    control: &ControlState,
    user_id: UserId,
    factor: &SecondFactorRow,
    code: &Code,
    now: Timestamp,
) -> Result<Option<(u64, Vec<u8>)>, ControlError> {
    let owner = owner(user_id);
    let Some(secret) = control.webhooks.sealing.open(&owner, &factor.secret) else {
        let cause = "the secret of a second factor was sealed under a key that is no longer listed in WEIR_JWT_KEY";
        return Err(Problem::internal(cause).into());
    };
    let code = letters(code);
    // The library accepts digits of other scripts and separators within a code.
    if code.len() != 6 || !code.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    let step = totp(&secret)?.check(&code, now.as_millis_u64() / 1000);
    Ok(step.map(|step| (step, seal(control, user_id, &secret))))
}

/// Spends a code, or refuses it. Wrong codes are bounded for the account. Nothing is spent if the transaction is not committed.
pub(crate) async fn spend(
    control: &ControlState,
    tx: &mut Tx,
    user_id: UserId,
    factor: &SecondFactorRow,
    code: &Code,
) -> Result<(), ControlError> {
    let throttle = &control.auth.login_throttle;
    let now = control.clock.now();
    let attempt = Attempt::second_factor(user_id);
    throttle.admit(&attempt, now).await.map_err(login_throttle::too_many_attempts)?;
    let accepted = match step_of(control, user_id, factor, code, now)? {
        Some((step, sealed)) => tx.second_factors().use_step(user_id, step, &sealed).await?,
        None => tx.second_factors().use_recovery_code(user_id, &digest(&letters(code))).await?,
    };
    if !accepted {
        return Err(refused().into());
    }
    throttle.refund(&attempt).await;
    Ok(())
}

/// The answer to a right password without a code.
pub(crate) fn required() -> Problem {
    Problem::new(
        ErrorCode::SecondFactor,
        "send the code of your authenticator, or a recovery code, as `code`",
    )
}

/// The answer to a wrong code.
pub(crate) fn refused() -> Problem {
    let detail = "the code is wrong, or was used before: wait for the next one";
    Problem::new(ErrorCode::SecondFactor, detail)
}

fn totp(secret: &[u8]) -> Result<Totp, Problem> {
    let secret = Secret::new(secret.into());
    Builder::new().with_secret(secret).build().map_err(|error| Problem::internal(error.to_string()))
}

fn seal(control: &ControlState, user_id: UserId, secret: &[u8]) -> Vec<u8> {
    control.webhooks.sealing.seal(&owner(user_id), secret, control.random.bytes::<NONCE_LEN>())
}

/// The owner of a secret. A secret cannot be moved to another account.
fn owner(user_id: UserId) -> String {
    format!("second factor {user_id}")
}

/// A code without blanks and hyphens, in upper case.
fn letters(code: impl AsRef<str>) -> String {
    let letters = code.as_ref().chars().filter(|letter| !letter.is_whitespace() && *letter != '-');
    letters.take(64).map(|letter| letter.to_ascii_uppercase()).collect()
}

fn digest(letters: &str) -> [u8; 32] {
    Sha256::digest(letters.as_bytes()).into()
}

/// RFC 4648 without padding, of whole groups of five bytes.
fn base32(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() / 5 * 8);
    for group in bytes.chunks(5) {
        let bits = group.iter().fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
        for place in (0..8).rev() {
            let index = usize::try_from((bits >> (5 * place)) & 31).unwrap_or(0);
            text.push(char::from(ALPHABET[index]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 6238, appendix B, for SHA-1, cut to six digits.
    #[test]
    fn codes_are_those_of_the_standard() {
        let totp = totp(b"12345678901234567890").expect("160 bits");
        let vectors = [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ];
        for (at_s, code) in vectors {
            assert_eq!(totp.check(code, at_s), Some(at_s / STEP_S), "{at_s}");
            assert_eq!(totp.check(code, at_s + 2 * STEP_S), None, "{at_s}");
        }
    }

    /// The vectors of RFC 4648, section 10, that need no padding.
    #[test]
    fn secrets_are_written_in_base32() {
        assert_eq!(base32(b"fooba"), "MZXW6YTB");
        assert_eq!(base32(&[0xff; 10]), "7777777777777777");
        assert_eq!(letters(" mzxw-6ytb "), "MZXW6YTB");
    }
}
