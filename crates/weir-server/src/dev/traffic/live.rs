//! Live traffic: checks of all callers through the gates, until the process stops.

use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use weir_domain::time::Clock;

use super::callers::{CALLERS, Caller, random};

const TICK_MS: u64 = 100;
/// The most checks on their way. Further ones are not sent.
const IN_FLIGHT_MAX: usize = 200;
/// The time that an export takes, at least.
const EXPORT_MS: u64 = 10_000;

/// Sends checks with this key until it is dropped.
pub async fn send(client: Client, gates: Vec<String>, api_key: String, clock: Clock) {
    let mut ticks = tokio::time::interval(Duration::from_millis(TICK_MS));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut sending = JoinSet::new();
    let mut sent = 0;
    loop {
        ticks.tick().await;
        while sending.try_join_next().is_some() {}
        let now = clock.now();
        for (number, caller) in (0..).zip(&CALLERS) {
            let seed = (now.as_millis_u64() << 8) | number;
            for _ in 0..caller.checks(now, TICK_MS, seed) {
                if sending.len() >= IN_FLIGHT_MAX {
                    break;
                }
                sent += 1;
                let gate = gates[sent % gates.len()].clone();
                let chance = random(seed ^ (sent as u64));
                sending.spawn(check(client.clone(), gate, api_key.clone(), caller, chance));
            }
        }
    }
}

/// Sends a check, and releases the leases that it took after a while. A failure ends this check only.
async fn check(
    client: Client,
    gate: String,
    api_key: String,
    caller: &'static Caller,
    chance: u64,
) {
    let attributes: serde_json::Map<String, Value> =
        caller.attributes.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let cost = if caller.namespace == "models" { 400 + chance % 2_800 } else { 1 };
    let body = json!({ "namespace": caller.namespace, "attributes": attributes, "cost": cost });
    let Some(answer) = call(&client, &format!("{gate}/check"), &api_key, &body).await else {
        return;
    };
    let Some(leases) = answer["leases"].as_array() else { return };
    tokio::time::sleep(Duration::from_millis(EXPORT_MS + chance % EXPORT_MS)).await;
    for lease in leases {
        call(&client, &format!("{gate}/release"), &api_key, &json!({ "lease": lease["id"] })).await;
    }
}

async fn call(client: &Client, url: &str, api_key: &str, body: &Value) -> Option<Value> {
    let sent = client.post(url).bearer_auth(api_key).json(body).send().await.ok()?;
    sent.json().await.ok()
}
