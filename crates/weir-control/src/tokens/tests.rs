//! The requirements of a token, with one forgery for each.

use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

fn key(fill: u8) -> SigningKey {
    SigningKey::from_seed(&[fill; 32]).expect("any 32 bytes are a seed")
}

fn bearer() -> Bearer {
    Bearer { user_id: UserId::from_u128(5), session_id: SessionId::from_u128(6) }
}

fn encode(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

/// A correctly signed token with any header and claims.
fn forged(header: &Value, claims: &Value) -> String {
    let signed = format!("{}.{}", encode(header), encode(claims));
    let signature = key(1).0.sign(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn header() -> Value {
    json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": key(1).kid() })
}

fn claims() -> Value {
    let now_s = NOW.as_millis() / 1000;
    json!({
        "iss": "weir", "aud": "weir-control", "jti": "t", "iat": now_s, "nbf": now_s, "exp": now_s + 600,
        "sub": bearer().user_id.to_string(), "sid": bearer().session_id.to_string(),
    })
}

fn with(mut base: Value, name: &str, value: Value) -> Value {
    base[name] = value;
    base
}

#[test]
fn own_token_is_good_until_it_expires() {
    let tokens = AccessTokens::new(&[key(1)]).expect("usable");
    let token = tokens.sign(bearer(), "t", NOW);
    assert_eq!(tokens.verify(&token, NOW), Some(bearer()));
    assert_eq!(tokens.verify(&token, NOW.plus_ms(604_000)), Some(bearer()), "leeway");
    assert_eq!(tokens.verify(&token, NOW.plus_ms(606_000)), None);
    assert_eq!(tokens.verify(&token, NOW.plus_ms(-6_000)), None, "not yet");
    assert_eq!(
        tokens.verify(&forged(&header(), &claims()), NOW),
        Some(bearer()),
        "the base of all forgeries"
    );
}

#[test]
fn key_that_was_rotated_out_still_verifies_until_it_is_dropped() {
    let old = AccessTokens::new(&[key(1)]).expect("usable").sign(bearer(), "t", NOW);
    let both = AccessTokens::new(&[key(2), key(1)]).expect("usable");
    assert_eq!(both.verify(&old, NOW), Some(bearer()));
    let dropped = AccessTokens::new(&[key(2)]).expect("usable");
    assert_eq!(dropped.verify(&old, NOW), None);
}

#[test]
fn forged_headers_are_refused() {
    let tokens = AccessTokens::new(&[key(1)]).expect("usable");
    let mut wrong = Vec::new();
    for alg in ["none", "None", "NONE", "HS256", "RS256", "ES256"] {
        wrong.push(with(header(), "alg", json!(alg)));
    }
    for kid in
        [json!(""), json!("../../etc/hosts"), json!("x".repeat(10_000)), json!(["a"]), json!(null)]
    {
        wrong.push(with(header(), "kid", kid));
    }
    for name in ["jku", "x5u"] {
        wrong.push(with(header(), name, json!("http://127.0.0.1:1/")));
    }
    wrong.push(with(header(), "crit", json!(["exp"])));
    wrong.push(with(header(), "typ", json!("JWT")));
    wrong.push(with(header(), "jwk", json!({ "kty": "OKP", "crv": "Ed25519", "x": "AA" })));
    for header in wrong {
        assert_eq!(tokens.verify(&forged(&header, &claims()), NOW), None, "{header}");
    }
}

#[test]
fn forged_claims_are_refused() {
    let tokens = AccessTokens::new(&[key(1)]).expect("usable");
    let now_s = NOW.as_millis() / 1000;
    let mut wrong = Vec::new();
    for exp in
        [json!(now_s - 60), json!(null), json!("9"), json!(-1), json!(1u64 << 63), json!(1.5)]
    {
        wrong.push(with(claims(), "exp", exp));
    }
    wrong.push(with(claims(), "nbf", json!(now_s + 60)));
    wrong.push(with(claims(), "aud", json!("other")));
    wrong.push(with(claims(), "iss", json!("other")));
    wrong.push(with(claims(), "sub", json!("user_1")));
    for name in ["exp", "iat", "nbf", "iss", "aud", "sub", "jti", "sid"] {
        let mut without = claims();
        without.as_object_mut().expect("an object").remove(name);
        wrong.push(without);
    }
    for claims in wrong {
        assert_eq!(tokens.verify(&forged(&header(), &claims), NOW), None, "{claims}");
    }
}

#[test]
fn any_changed_segment_is_refused() {
    let tokens = AccessTokens::new(&[key(1)]).expect("usable");
    let token = tokens.sign(bearer(), "t", NOW);
    let parts: Vec<&str> = token.split('.').collect();
    assert_eq!(tokens.verify(&format!("{}.{}.", parts[0], parts[1]), NOW), None);
    for segment in 0..3 {
        let mut changed: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        let flipped = if changed[segment].starts_with('A') { "B" } else { "A" };
        changed[segment].replace_range(0..1, flipped);
        assert_eq!(tokens.verify(&changed.join("."), NOW), None, "segment {segment}");
    }
}

#[test]
fn keys_that_are_not_random_are_refused() {
    assert_eq!(SigningKey::parse("secret").err(), Some(UnusableKey::Form));
    assert_eq!(SigningKey::parse(&STANDARD.encode([0; 32])).err(), Some(UnusableKey::Regular));
    let row: [u8; 32] = std::array::from_fn(|at| u8::try_from(at).expect("small"));
    let downwards = row.map(|byte| 255 - 3 * byte);
    for regular in
        [row, downwards, *b"0123456789abcdef0123456789abcdef", *b"abcdefghijklmnopqrstuvwxyz012345"]
    {
        assert_eq!(SigningKey::parse(&STANDARD.encode(regular)).err(), Some(UnusableKey::Regular));
    }
    assert_eq!(SigningKey::parse(&STANDARD.encode([1; 31])).err(), Some(UnusableKey::Form));
    let random: Vec<u8> = (0..32u8).map(|i| i.wrapping_mul(97).wrapping_add(13)).collect();
    assert!(SigningKey::parse(&STANDARD.encode(random)).is_ok());
    assert_eq!(AccessTokens::new(&[]).err(), Some(UnusableKey::Missing));
}

#[test]
fn first_token_of_another_planes_key_is_reported_and_no_invented_id() {
    let key = |byte: u8| SigningKey::from_seed(&[byte; 32]).expect("any 32 bytes are a seed");
    let ours = AccessTokens::new(&[key(1)]).expect("usable");
    assert!(!ours.report_unknown("an id\nof a caller"));
    assert!(ours.report_unknown(&key(2).kid()));
    assert!(!ours.report_unknown(&key(3).kid()), "once");
}
