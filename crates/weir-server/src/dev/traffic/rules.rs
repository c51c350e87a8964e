//! The rules, overrides and alerts of the tenant with traffic.

use serde_json::{Value, json};

/// A rule, and the bucket by which its history is generated.
#[derive(Debug)]
pub struct DemoRule {
    pub body: Value,
    /// The attribute that it counts by.
    pub count_by: &'static str,
    pub bucket: Bucket,
    /// Subjects with an override, which have another bucket.
    pub overrides: Vec<DemoOverride>,
}

/// An override, without the id of its rule.
#[derive(Debug)]
pub struct DemoOverride {
    pub value: &'static str,
    pub body: Value,
    pub bucket: Bucket,
}

/// A token bucket of checks. A window of a minute is one that refills in a minute.
#[derive(Debug, Clone, Copy)]
pub struct Bucket {
    pub capacity: u64,
    pub refill_per_minute: u64,
}

/// The bucket of a limit that no history reaches.
const NEVER_EMPTY: Bucket = Bucket { capacity: 1_000_000, refill_per_minute: 1_000_000 };

impl DemoRule {
    pub fn namespace(&self) -> &str {
        self.body["namespace"].as_str().unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        self.body["name"].as_str().unwrap_or_default()
    }

    pub fn is_shadow(&self) -> bool {
        self.body["mode"] == "shadow"
    }

    /// The bucket of a subject.
    pub fn bucket_of(&self, value: &str) -> Bucket {
        let own = self.overrides.iter().find(|own| own.value == value);
        own.map_or(self.bucket, |own| own.bucket)
    }
}

/// The rules. The first one is edited while traffic runs: [`edited_rule`].
pub fn rules() -> Vec<DemoRule> {
    vec![api_per_customer(), login_per_user(), login_per_address(), exports(), tokens()]
}

/// The first rule with a smaller burst.
pub fn edited_rule() -> Value {
    let mut body = api_per_customer().body;
    body["limits"] = json!([api_limit(15, 5)]);
    body["description"] = "Bursts of 15, then 5 requests a second for each customer.".into();
    body
}

fn api_limit(capacity: u64, per_second: u64) -> Value {
    json!({ "algorithm": "token_bucket", "capacity": capacity, "refill_tokens": per_second, "refill_interval_ms": 1_000 })
}

fn api_per_customer() -> DemoRule {
    DemoRule {
        body: json!({
            "namespace": "api", "name": "api-per-customer",
            "description": "Bursts of 40, then 5 requests a second for each customer.",
            "count_by": ["customer"],
            "limits": [api_limit(40, 5)],
            "on_store_failure": "local",
        }),
        count_by: "customer",
        bucket: Bucket { capacity: 40, refill_per_minute: 300 },
        overrides: vec![DemoOverride {
            value: "northwind",
            body: json!({ "limits": [api_limit(200, 20)], "reason": "Contract for 20 requests a second" }),
            bucket: Bucket { capacity: 200, refill_per_minute: 1_200 },
        }],
    }
}

fn login_per_user() -> DemoRule {
    DemoRule {
        body: json!({
            "namespace": "auth", "name": "login-per-user",
            "description": "Five sign-ins in any minute for each user.",
            "count_by": ["user"],
            "limits": [{ "algorithm": "sliding_window_log", "limit": 5, "window_ms": 60_000 }],
            "on_store_failure": "deny",
        }),
        count_by: "user",
        bucket: Bucket { capacity: 5, refill_per_minute: 5 },
        overrides: vec![DemoOverride {
            value: "u-1003",
            body: json!({ "action": "allow", "reason": "Account of the nightly browser tests" }),
            bucket: NEVER_EMPTY,
        }],
    }
}

fn login_per_address() -> DemoRule {
    DemoRule {
        body: json!({
            "namespace": "auth", "name": "login-per-address",
            "description": "On trial: 20 sign-ins in any minute from one address.",
            "mode": "shadow",
            "count_by": ["ip"],
            "limits": [{ "algorithm": "sliding_window_log", "limit": 20, "window_ms": 60_000 }],
        }),
        count_by: "ip",
        bucket: Bucket { capacity: 20, refill_per_minute: 20 },
        overrides: Vec::new(),
    }
}

fn exports() -> DemoRule {
    DemoRule {
        body: json!({
            "namespace": "exports", "name": "exports-in-progress",
            "description": "Three exports at the same time for each customer.",
            "count_by": ["customer"],
            "limits": [{ "algorithm": "concurrency", "capacity": 3, "lease_ms": 60_000 }],
        }),
        count_by: "customer",
        bucket: Bucket { capacity: 3, refill_per_minute: 9 },
        overrides: Vec::new(),
    }
}

fn tokens() -> DemoRule {
    DemoRule {
        body: json!({
            "namespace": "models", "name": "tokens-per-team",
            "description": "Model tokens of each team in a month.",
            "count_by": ["team"],
            "limits": [tokens_limit(400_000_000)],
        }),
        count_by: "team",
        bucket: NEVER_EMPTY,
        overrides: vec![DemoOverride {
            value: "research",
            body: json!({ "limits": [tokens_limit(800_000_000)], "reason": "Evaluation of a new model" }),
            bucket: NEVER_EMPTY,
        }],
    }
}

fn tokens_limit(limit: u64) -> Value {
    json!({ "algorithm": "quota", "limit": limit, "period": "month", "time_zone": "UTC" })
}

/// Tokens that each team has used in this month before traffic begins. They are recorded, so the counters have them.
pub const TOKENS_USED: [(&str, u64); 4] = [
    ("search", 331_000_000),
    ("support", 214_000_000),
    ("research", 558_000_000),
    ("growth", 372_000_000),
];

/// The alerts, without the ids of their webhook and rule.
pub fn denial_alert() -> Value {
    json!({ "name": "API denials above 8%", "kind": "denial_share", "namespace": "api", "share_percent": 8 })
}

/// The alert about the rule `tokens-per-team`.
pub fn token_alert() -> Value {
    json!({ "name": "Token volume", "kind": "quota", "thresholds_percent": [80, 90, 100] })
}
