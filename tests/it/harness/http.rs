//! The client. It reads every answer completely and measures its time.

use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;

/// A client of one test. Its connections belong to the runtime of that test.
#[derive(Debug, Clone)]
pub struct Http(Client);

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    /// The body, or null if it is not JSON.
    pub body: Value,
    pub took: Duration,
}

const ANSWER_LIMIT: Duration = Duration::from_secs(30);

impl Http {
    pub fn new() -> Self {
        let client = Client::builder().timeout(ANSWER_LIMIT).no_proxy();
        Self(client.build().expect("a client without TLS needs nothing"))
    }

    /// A client that returns redirects as answers.
    pub fn without_redirects() -> Self {
        let client = Client::builder().timeout(ANSWER_LIMIT).no_proxy();
        let client = client.redirect(reqwest::redirect::Policy::none());
        Self(client.build().expect("a client without TLS needs nothing"))
    }

    pub fn request(&self, method: Method, url: &str) -> RequestBuilder {
        self.0.request(method, url)
    }

    pub async fn get(&self, url: &str) -> Reply {
        send(self.0.get(url)).await
    }

    /// Sends a GET request. Returns `None` if no process listens.
    pub async fn try_get(&self, url: &str) -> Option<Reply> {
        try_send(self.0.get(url)).await.ok()
    }

    pub async fn post(&self, url: &str, token: &str, body: &Value) -> Reply {
        send(self.0.post(url).bearer_auth(token).json(body)).await
    }
}

impl Reply {
    /// Returns this reply if it has this status, and fails the test otherwise.
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    /// A text in the body.
    pub fn text(&self, pointer: &str) -> String {
        let found = self.body.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_else(|| panic!("no {pointer} in {}", self.body)).to_owned()
    }

    /// A whole number in the body.
    pub fn number(&self, pointer: &str) -> u64 {
        let found = self.body.pointer(pointer).and_then(Value::as_u64);
        found.unwrap_or_else(|| panic!("no {pointer} in {}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether the decision allowed the check.
    pub fn allowed(&self) -> bool {
        let allowed = self.body["allowed"].as_bool();
        allowed.unwrap_or_else(|| panic!("{} is no decision: {}", self.status, self.body))
    }

    /// The code of the problem. Fails the test if the answer is not a complete problem.
    pub fn problem(&self) -> &str {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.body);
        assert_eq!(self.body["status"], self.status, "{}", self.body);
        assert!(self.body["request_id"].as_str().is_some_and(|id| !id.is_empty()), "{}", self.body);
        assert_eq!(self.body["request_id"].as_str(), self.header("x-request-id"));
        for text in ["type", "title", "detail"] {
            assert!(self.body[text].is_string(), "{text}: {}", self.body);
        }
        self.body["code"].as_str().expect("every problem has a code")
    }
}

/// Sends a request.
pub async fn send(request: RequestBuilder) -> Reply {
    try_send(request).await.unwrap_or_else(|error| panic!("{error:?}"))
}

/// Sends a request to an address on which possibly no process listens.
pub async fn try_send(request: RequestBuilder) -> Result<Reply, reqwest::Error> {
    let began = Instant::now();
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let bytes = response.bytes().await?;
    let body = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok(Reply { status, headers, body, took: began.elapsed() })
}
