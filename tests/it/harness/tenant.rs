//! A person who signed up, with a tenant, a key and clients of both planes.

use std::sync::atomic::{AtomicU32, Ordering};

use reqwest::Method;
use serde_json::{Value, json};

use super::http::send;
use super::{Http, Reply, Server, Stack, seconds, until};

/// A tenant of one test.
#[derive(Debug, Clone)]
pub struct Tenant<'a> {
    pub stack: &'a Stack,
    pub http: Http,
    pub id: String,
    pub token: String,
    pub key: String,
}

/// A rule after its last write.
#[derive(Debug, Clone)]
pub struct Rule {
    pub id: String,
    pub etag: String,
    pub version: u64,
}

pub const PASSWORD: &str = "correct horse battery";

impl<'a> Tenant<'a> {
    /// Signs up and creates a key. Returns when both gates know the key.
    pub async fn sign_up(stack: &'a Stack) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let http = Http::new();
        let email = format!("person-{}@example.com", COUNT.fetch_add(1, Ordering::Relaxed));
        let body = json!({ "email": email, "password": PASSWORD, "tenant_name": "Example" });
        let url = format!("{}/api/v1/auth/signup", stack.control.url);
        let signed_up = send(http.request(Method::POST, &url).json(&body)).await.expect(201);
        let (id, token) = (signed_up.text("/tenant/id"), signed_up.text("/access_token"));
        let mut tenant = Self { stack, http, id, token, key: String::new() };
        let (_, secret, version) = tenant.make_key(&["check"]).await;
        tenant.key = secret;
        tenant.settled(version).await;
        tenant
    }

    /// Calls the admin API; `path` is relative to the tenant.
    pub async fn admin(&self, method: Method, path: &str, body: &Value) -> Reply {
        self.admin_if_match(method, path, None, body).await
    }

    pub async fn admin_if_match(
        &self,
        method: Method,
        path: &str,
        etag: Option<&str>,
        body: &Value,
    ) -> Reply {
        let url = format!("{}/api/v1/tenants/{}{path}", self.stack.control.url, self.id);
        let mut request = self.http.request(method, &url).bearer_auth(&self.token);
        if !body.is_null() {
            request = request.json(body);
        }
        if let Some(etag) = etag {
            request = request.header("if-match", etag);
        }
        send(request).await
    }

    /// Creates a key. Returns its id, its secret, and the version from which gates know it.
    pub async fn make_key(&self, scopes: &[&str]) -> (String, String, u64) {
        let body = json!({ "name": "test", "scopes": scopes });
        let key = self.admin(Method::POST, "/keys", &body).await.expect(201);
        (key.text("/id"), key.text("/secret"), key.number("/rulebook_version"))
    }

    /// Creates a rule. Returns when it is in force on both gates.
    pub async fn rule(&self, body: &Value) -> Rule {
        let reply = self.admin(Method::POST, "/rules", body).await.expect(201);
        let rule = Rule::of(&reply);
        self.settled(rule.version).await;
        rule
    }

    /// Replaces a rule, without waiting for the gates.
    pub async fn put(&self, rule: &Rule, body: &Value) -> Rule {
        let path = format!("/rules/{}", rule.id);
        let reply = self.admin_if_match(Method::PUT, &path, Some(&rule.etag), body).await;
        Rule::of(&reply.expect(200))
    }

    /// Replaces a rule. Returns when the new one is in force on both gates.
    pub async fn put_settled(&self, rule: &Rule, body: &Value) -> Rule {
        let rule = self.put(rule, body).await;
        self.settled(rule.version).await;
        rule
    }

    /// Creates an override of a rule. Returns when it is in force on both gates.
    pub async fn override_rule(&self, body: &Value) -> Reply {
        let reply = self.admin(Method::POST, "/overrides", body).await.expect(201);
        self.settled(reply.number("/rulebook_version")).await;
        reply
    }

    /// Waits until both gates serve this version.
    pub async fn settled(&self, version: u64) {
        for gate in &self.stack.gates {
            self.settled_on(gate, version).await;
        }
    }

    pub async fn settled_on(&self, gate: &Server, version: u64) {
        let url = format!("{}/readyz", gate.url);
        let what = format!("{url} serves version {version}");
        until(seconds(10), &what, async || {
            let reply = self.http.get(&url).await;
            reply.body["rulebook_version"].as_u64().is_some_and(|served| served >= version)
        })
        .await;
    }

    /// Sends a check to one of the two gates.
    pub async fn check(&self, gate: usize, body: &Value) -> Reply {
        self.ask(&self.stack.gates[gate], "/check", body).await
    }

    pub async fn ask(&self, gate: &Server, path: &str, body: &Value) -> Reply {
        self.http.post(&format!("{}{path}", gate.url), &self.key, body).await
    }
}

impl Rule {
    fn of(reply: &Reply) -> Self {
        Self {
            id: reply.text("/id"),
            etag: reply.header("etag").expect("a rule has an ETag").to_owned(),
            version: reply.number("/rulebook_version"),
        }
    }
}
