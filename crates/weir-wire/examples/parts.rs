//! Runs a pure part of a check a number of times, and prints the nanoseconds of one run. `cargo xtask bench instructions`
//! counts the instructions.
//!
//! `cargo run --release -p weir-wire --example parts -- match 1000`

#![expect(clippy::print_stdout, reason = "a command-line tool talks to its user")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use weir_domain::api_key::{ApiKeySecret, KeyDigest};
use weir_domain::id::{KeyId, RuleId, TenantId};
use weir_domain::matching::{Matched, matched_in};
use weir_domain::request::Request;
use weir_domain::rulebook::Rulebook;
use weir_domain::time::Timestamp;
use weir_wire::check::{CheckAnswer, CheckBody, LimitAnswer};
use weir_wire::limits::AlgorithmName;
use weir_wire::stored::{StoredKey, StoredRule, StoredTenant};
use weir_wire::words::Mode;

fn main() {
    let mut args = std::env::args().skip(1);
    let part = args.next().unwrap_or_default();
    let times: u32 = args.next().and_then(|times| times.parse().ok()).unwrap_or(1);
    match part.as_str() {
        "parse" => repeat(times, || parse_part(black_box(CHECK.as_bytes()))),
        "match" => {
            let (book, request) = (rulebook(), parse_part(CHECK.as_bytes()));
            let matches =
                |matched: Matched| matches!(matched, Matched::Charged(all) if all.len() == 20);
            // Not measured: the first allocation after the rulebook was built consolidates the heap.
            let namespace = book.namespace(tenant(), request.namespace()).expect("it has rules");
            assert!(matches(matched_in(namespace, &request, NOW)), "20 of 10,000 rules match");
            repeat(times, || match_part(black_box(&book), black_box(&request)));
        }
        "caller" => {
            let (book, secret) = (rulebook(), secret());
            assert!(caller_part(&book, secret.expose()), "the key is known");
            repeat(times, || caller_part(black_box(&book), black_box(secret.expose())));
        }
        "respond" => {
            let answer = answer();
            repeat(times, || respond_part(black_box(&answer)));
        }
        other => panic!("no part {other:?}: parse, match, caller or respond"),
    }
}

fn repeat<T>(times: u32, part: impl Fn() -> T) {
    let begun = Instant::now();
    for _ in 0..times {
        black_box(part());
    }
    println!("{}", begun.elapsed().as_nanos() / u128::from(times.max(1)));
}

// Callgrind counts from the entry into these until they return.

#[inline(never)]
fn parse_part(body: &[u8]) -> Request {
    let body: CheckBody = serde_json::from_slice(body).expect("it is a check");
    body.parse().expect("it is in its bounds")
}

#[inline(never)]
fn match_part(book: &Rulebook, request: &Request) -> Matched {
    let namespace = book.namespace(tenant(), request.namespace()).expect("it has rules");
    matched_in(namespace, request, NOW)
}

#[inline(never)]
fn caller_part(book: &Rulebook, presented: &str) -> bool {
    let digest = KeyDigest::of_presented(presented).expect("it is well-formed");
    book.caller(&digest, NOW).is_some()
}

#[inline(never)]
fn respond_part(answer: &CheckAnswer) -> Vec<u8> {
    answer.to_json()
}

const CHECK: &str =
    r#"{"namespace":"api","attributes":{"user":"u-4711","route":"/hot","ip":"203.0.113.9"}}"#;
const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn tenant() -> TenantId {
    TenantId::new(NOW, 1)
}

fn secret() -> ApiKeySecret {
    let bytes: Vec<u8> = (0..=u8::MAX).collect();
    ApiKeySecret::generate(bytes.first_chunk().expect("256 bytes are more than a key needs"))
}

/// One tenant with 10,000 rules in one namespace, of which 20 match.
fn rulebook() -> Rulebook {
    let rule = |nth: u32| {
        let hot = nth.is_multiple_of(500);
        let route = if hot { "/hot".to_owned() } else { format!("/cold/{nth}") };
        Arc::new(StoredRule {
            id: RuleId::new(NOW, nth.into()).to_string(),
            revision: Some(1),
            newer_unreadable: None,
            slots: vec![0],
            body: json!({
                "namespace": "api", "name": format!("rule-{nth}"), "count_by": ["user"],
                "match": [{ "attribute": "route", "op": "equals", "value": route }],
                "limits": [{ "algorithm": "token_bucket", "capacity": 100, "refill_tokens": 10,
                    "refill_interval_ms": 1_000 }],
            })
            .to_string()
            .into(),
        })
    };
    let key = StoredKey {
        id: KeyId::new(NOW, 1).to_string(),
        digest: secret().digest().0,
        scopes: vec!["check".to_owned()],
        expires_at_ms: None,
    };
    let stored = StoredTenant {
        id: tenant().to_string(),
        suspended: false,
        record_checks: false,
        enforced: true,
        checks_per_second: None,
        version: 1,
        keys: vec![key],
        rules: (0..10_000).map(rule).collect(),
        overrides: Vec::new(),
        profiles: Vec::new(),
        spread: BTreeMap::new(),
        customer_attribute: None,
        customer_view: None,
        plans: Vec::new(),
        assignments: Vec::new(),
    };
    let (rules, left_out) = stored.compile();
    assert!(left_out.is_empty(), "all can be read: {left_out:?}");
    Rulebook::default().with_changes(1, [(tenant(), Some(rules))])
}

/// The answer of one rule with one limit.
fn answer() -> CheckAnswer {
    let limit = LimitAnswer {
        rule: "login-per-user".into(),
        rule_id: RuleId::new(NOW, 1).to_string().into(),
        algorithm: AlgorithmName::TokenBucket,
        mode: Mode::Enforce,
        allowed: true,
        limit: 100,
        remaining: Some(99),
        window_ms: 10_000,
        reset_after_ms: Some(100),
        retry_after_ms: Some(0),
        delay_ms: 0,
        refunded: None,
    };
    CheckAnswer {
        allowed: true,
        denied_by: Vec::new(),
        retry_after_ms: Some(0),
        cache_for_ms: 0,
        delay_ms: 0,
        limit: Some(100),
        remaining: Some(99),
        reset_after_ms: Some(100),
        limits: vec![limit],
        over: Vec::new(),
        leases: Vec::new(),
        charge: None,
        degraded: None,
        rulebook_version: 42,
        code: None,
    }
}
