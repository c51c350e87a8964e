//! A gate in memory, for tests of applications. The client is the real one, so `OnError`, headers and the layer behave as with a gate.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Weir;
use crate::error::{Error, Kind};
use crate::options::{OnError, Options};
use crate::request::CheckRequest;

/// The end of leases and reservations, which no test reaches.
const EXPIRES_AT_MS: u64 = 1 << 52;

/// A gate that admits all checks but those that a test denies, and records what it received. Clones are the same gate.
#[derive(Debug, Clone, Default)]
pub struct MemoryGate(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    denials: Vec<(CheckRequest, Option<Duration>)>,
    failure: Option<Kind>,
    received: Vec<(String, Value)>,
}

impl MemoryGate {
    /// A gate that admits all checks.
    pub fn new() -> Self {
        Self::default()
    }

    /// A client of this gate.
    pub fn client(&self, on_error: OnError) -> Weir {
        let options = self.options(on_error).cache_size(0);
        Weir::new(options).expect("the options are right")
    }

    /// The options of a client of this gate, to add others.
    pub fn options(&self, on_error: OnError) -> Options {
        let mut options = Options::new("http://gate.test", "test", on_error);
        let gate = self.clone();
        options.in_memory = Some(Arc::new(move |path, text| gate.reply(path, text)));
        options
    }

    /// Denies the checks of this namespace that have at least these attributes. `None`: they never pass again.
    pub fn deny(&self, checks: CheckRequest, retry_after: Option<Duration>) {
        self.lock().denials.push((checks, retry_after));
    }

    /// Admits all checks from now on.
    pub fn allow(&self) {
        let mut state = self.lock();
        state.denials.clear();
        state.failure = None;
    }

    /// Fails all calls from now on, with an error of this kind.
    pub fn fail(&self, kind: Kind) {
        self.lock().failure = Some(kind);
    }

    /// The path and the body of each request, in the order of their arrival; the checks of a batch one by one.
    pub fn received(&self) -> Vec<(String, Value)> {
        self.lock().received.clone()
    }

    fn reply(&self, path: &str, text: Option<&[u8]>) -> Result<(u16, Vec<u8>), Error> {
        let mut state = self.lock();
        if let Some(kind) = state.failure {
            return Err(Error::new(kind, "the gate in memory fails"));
        }
        let body: Value = text.map_or(Value::Null, |text| {
            serde_json::from_slice(text).expect("the client sends JSON")
        });
        let (status, answer) = match body["checks"].as_array() {
            Some(checks) => {
                let each: Vec<_> =
                    checks.iter().map(|check| state.answer("/check", check).1).collect();
                (200, json!({ "results": each }))
            }
            None => state.answer(path, &body),
        };
        Ok((status, answer.to_string().into_bytes()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn answer(&mut self, path: &str, body: &Value) -> (u16, Value) {
        self.received.push((path.to_owned(), body.clone()));
        let cost = body["cost"].as_u64().unwrap_or(1);
        match path {
            "/renew" => return (200, json!({ "expires_at_ms": EXPIRES_AT_MS, "degraded": null })),
            "/release" => return (200, json!({ "released": true, "degraded": null })),
            "/commit" => {
                let committed =
                    json!({ "charged": cost, "released": 0, "late": false, "degraded": null });
                return (200, committed);
            }
            "/check" | "/reserve" | "/record" | "/refund" | "/exhaust" => {}
            _ => return (501, json!({})),
        }
        let decides = path == "/check" || path == "/reserve";
        let denial = self.denials.iter().find(|(checks, _)| decides && includes(checks, body));
        let allowed = denial.is_none();
        let ms = |pause: Duration| u64::try_from(pause.as_millis()).unwrap_or(EXPIRES_AT_MS);
        let retry_after_ms = denial.map_or(Some(0), |(_, retry_after)| retry_after.map(ms));
        let mut answer = json!({
            "allowed": allowed, "denied_by": if allowed { vec![] } else { vec!["test"] }, "retry_after_ms": retry_after_ms,
            "delay_ms": 0, "limit": null, "remaining": null, "reset_after_ms": null, "limits": [], "degraded": null,
            "rulebook_version": 1,
        });
        if path == "/record" {
            answer["charged"] = json!(cost);
        }
        if path == "/reserve" {
            answer["reservation"] = json!(allowed.then_some("test"));
            answer["reserved"] = json!(if allowed { cost } else { 0 });
            answer["expires_at_ms"] = json!(allowed.then_some(EXPIRES_AT_MS));
        }
        (if allowed { 200 } else { 429 }, answer)
    }
}

fn includes(checks: &CheckRequest, body: &Value) -> bool {
    let mut attributes = checks.attributes.iter();
    body["namespace"] == checks.namespace
        && attributes.all(|(name, value)| body["attributes"][name] == *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Degraded;
    use crate::reservation::ReserveRequest;

    #[tokio::test]
    async fn gate_in_memory_denies_fails_and_records() {
        let gate = MemoryGate::new();
        let weir = gate.client(OnError::Deny);
        let eve = CheckRequest::new("login").attribute("user", "eve");
        let ada = CheckRequest::new("login").attribute("user", "ada");
        gate.deny(eve.clone(), Some(Duration::from_secs(5)));
        let denied = weir.check(&eve.clone().attribute("route", "/")).await.expect("an answer");
        assert!(!denied.allowed && denied.retry_after_ms == Some(5_000), "{denied:?}");
        let both = weir.batch(&[ada.clone(), eve.clone()]).await.expect("answers");
        assert_eq!(both.iter().map(|one| one.allowed).collect::<Vec<_>>(), [true, false]);
        let held = weir.reserve(&ReserveRequest::new(ada.clone().cost(3))).await.expect("held");
        assert_eq!(held.reserved, 3);
        assert_eq!(held.commit(2).await.expect("committed").charged, 2);
        assert!(weir.release("lease").await.expect("released").released);

        gate.fail(Kind::Connection);
        let left = weir.check(&ada).await.expect("an answer");
        assert!(!left.allowed && left.degraded == Some(Degraded::Client), "{left:?}");
        gate.allow();
        assert!(weir.check(&eve).await.expect("an answer").allowed);
        let paths: Vec<_> = gate.received().into_iter().map(|(path, _)| path).collect();
        let expected = ["/check", "/check", "/check", "/reserve", "/commit", "/release", "/check"];
        assert_eq!(paths, expected);
    }
}
