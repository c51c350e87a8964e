//! Bad requests: the status, code and field of each answer, which is always a problem. None takes units.

mod admin;
mod checks;
mod deferred;
mod every_call;
mod exhausts;
mod leases;
mod reservations;
mod wire;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Reply, Rule, Tenant, shared, try_send};

/// One bad request and the expected answer.
#[derive(Debug)]
struct Case {
    name: &'static str,
    method: Method,
    /// The path, in which `{tenant}` and `{rule}` stand for the ids.
    path: String,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
    authorized: bool,
    expected: (u16, &'static str, Option<&'static str>),
}

impl Case {
    /// A POST of JSON with a valid credential.
    fn post(name: &'static str, path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            name,
            method: Method::POST,
            path: path.to_owned(),
            headers: vec![("content-type", b"application/json".to_vec())],
            body: body.into(),
            authorized: true,
            expected: (0, "", None),
        }
    }

    fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// Sets a header, and replaces one with the same name.
    fn header(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self.headers.push((name, value.as_ref().to_vec()));
        self
    }

    fn without(mut self, name: &'static str) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self
    }

    fn to(mut self, path: String) -> Self {
        self.path = path;
        self
    }

    fn anonymous(mut self) -> Self {
        self.authorized = false;
        self
    }

    fn is(mut self, status: u16, code: &'static str) -> Self {
        self.expected = (status, code, None);
        self
    }

    /// Expects 422 with this field.
    fn refuses(mut self, field: &'static str) -> Self {
        self.expected = (422, "invalid", Some(field));
        self
    }

    async fn send(&self, tenant: &Tenant<'_>, rule: &Rule, base: &str, token: &str) -> Reply {
        let path = self.path.replace("{tenant}", &tenant.id).replace("{rule}", &rule.id);
        let mut request = tenant.http.request(self.method.clone(), &format!("{base}{path}"));
        for (name, value) in &self.headers {
            request = request.header(*name, value.as_slice());
        }
        if self.authorized {
            request = request.bearer_auth(token);
        }
        let answer = try_send(request.body(self.body.clone())).await;
        answer.unwrap_or_else(|error| panic!("{}: {error:?}", self.name))
    }

    /// The difference between the answer and the expected one, if there is one.
    fn fault(&self, reply: &Reply) -> Option<String> {
        let (status, code, field) = self.expected;
        let problem = std::panic::catch_unwind(|| reply.problem().to_owned());
        let Ok(got) = problem else {
            return Some(format!(
                "{}: no whole problem: {} {}",
                self.name, reply.status, reply.body
            ));
        };
        let named = |field: &str| {
            let fields = reply.body["fields"].as_array();
            fields.is_some_and(|fields| fields.iter().any(|fault| fault["field"] == field))
        };
        let as_expected = reply.status == status
            && got == code
            && field.is_none_or(named)
            && reply.took.as_secs() < 10;
        (!as_expected).then(|| {
            format!(
                "{}: expected {:?}, got {} {}",
                self.name, self.expected, reply.status, reply.body
            )
        })
    }
}

/// A tenant with one rule that counts every check, so that every taken unit is visible.
async fn watched() -> (Tenant<'static>, Rule) {
    let tenant = Tenant::sign_up(shared().await).await;
    let rule = json!({ "name": "watched", "limits": [
        { "algorithm": "fixed_window", "limit": 10_000, "window_ms": 31_622_400_000_u64 },
        { "algorithm": "sliding_window_log", "limit": 10_000, "window_ms": 31_622_400_000_u64 },
    ] });
    let rule = tenant.rule(&rule).await;
    (tenant, rule)
}

async fn assert_nothing_was_taken(tenant: &Tenant<'_>) {
    let peek = json!({ "mode": "peek" });
    let reply = tenant.check(0, &peek).await.expect(200);
    for limit in reply.body["limits"].as_array().expect("a list") {
        assert_eq!(limit["remaining"], 9_999, "something was taken: {}", reply.body);
    }
}

/// Sends the requests with this key to two gates in turn. Returns what is wrong with the replies.
async fn faults(tenant: &Tenant<'_>, rule: &Rule, cases: &[Case], key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let base = &tenant.stack.gates[at % 2].url;
        let reply = case.send(tenant, rule, base, key).await;
        faults.extend(case.fault(&reply));
    }
    faults
}

fn assert_no_fault(faults: &[String], cases: usize, at_least: usize) {
    assert!(faults.is_empty(), "{} of {cases}:\n{}", faults.len(), faults.join("\n"));
    assert!(cases >= at_least, "only {cases} bad requests are tried");
}

fn text(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}
