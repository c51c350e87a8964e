//! How requests are sent.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use http::Method;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use crate::error::{Error, Kind};
use crate::options::{InMemory, Options, Traceparent, WrongOption};

/// The longest answer that is read: more than a batch of 100 checks with the most limits.
const BODY_MAX: usize = 8 << 20;
/// Shorter than the time after which gates and load balancers close idle connections.
const IDLE: Duration = Duration::from_secs(5);

const JSON: &str = "application/json";

/// Sends requests to one address. Unless the program gives a client of its own, it uses no proxy of the environment, and follows no
/// redirect.
pub(crate) struct Transport {
    http: reqwest::Client,
    headers: HeaderMap,
    url: String,
    timeout: Duration,
    traceparent: Traceparent,
    in_memory: Option<InMemory>,
}

impl fmt::Debug for Transport {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The answer of a gate, or of something in its place.
#[derive(Debug)]
pub(crate) struct Reply {
    pub status: u16,
    pub content: Vec<u8>,
    /// The header `X-Request-Id`.
    pub request_id: Option<String>,
}

/// How a request is sent.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    pub method: Method,
    pub path: &'a str,
    /// Once more if the connection failed.
    pub repeatable: bool,
    /// That of the client if it is `None`.
    pub timeout: Option<Duration>,
    /// That of the present span if it is `None`.
    pub traceparent: Option<String>,
}

impl<'a> Call<'a> {
    pub fn post(path: &'a str, repeatable: bool) -> Self {
        Self { method: Method::POST, path, repeatable, timeout: None, traceparent: None }
    }
}

impl Transport {
    pub fn new(options: &Options) -> Result<Self, WrongOption> {
        let mut headers = HeaderMap::new();
        let key = HeaderValue::try_from(format!("Bearer {}", options.key));
        headers.insert(AUTHORIZATION, key.map_err(|_| WrongOption("key: an API key is needed"))?);
        headers.insert(ACCEPT, HeaderValue::from_static(JSON));
        let own = || {
            let builder = reqwest::Client::builder().redirect(Policy::none()).no_proxy();
            let built = builder.http1_only().pool_idle_timeout(IDLE).build();
            built.map_err(|_| WrongOption("url: TLS is not available"))
        };
        let http = options.http.clone().map_or_else(own, Ok)?;
        let Options { url, timeout, traceparent, in_memory, .. } = options.clone();
        Ok(Self { http, headers, url, timeout, traceparent, in_memory })
    }

    /// Posts a request, and returns the answer if it has the status of a decision.
    pub async fn post(
        &self,
        path: &str,
        body: &impl Serialize,
        repeatable: bool,
    ) -> Result<Reply, Error> {
        let reply = self.send(Call::post(path, repeatable), Some(body)).await?;
        if reply.status == 200 || reply.status == 429 {
            Ok(reply)
        } else {
            Err(Error::problem(reply.status, &reply.content))
        }
    }

    /// Sends a request, and returns any answer.
    pub async fn send(
        &self,
        call: Call<'_>,
        body: Option<&impl Serialize>,
    ) -> Result<Reply, Error> {
        let text = body.map(|body| serde_json::to_vec(body).expect("maps of texts are JSON"));
        self.send_text(call, text).await
    }

    /// As `send`, with a body that is JSON already.
    pub async fn send_json(&self, call: Call<'_>, json: Vec<u8>) -> Result<Reply, Error> {
        self.send_text(call, Some(json)).await
    }

    async fn send_text(&self, call: Call<'_>, text: Option<Vec<u8>>) -> Result<Reply, Error> {
        let deadline = Instant::now() + call.timeout.unwrap_or(self.timeout);
        match self.send_once(&call, text.clone(), deadline).await {
            Err(error)
                if call.repeatable
                    && error.kind == Kind::Connection
                    && Instant::now() < deadline =>
            {
                self.send_once(&call, text, deadline).await
            }
            outcome => outcome,
        }
    }

    async fn send_once(
        &self,
        call: &Call<'_>,
        text: Option<Vec<u8>>,
        deadline: Instant,
    ) -> Result<Reply, Error> {
        timeout_at(deadline, self.exchange(call, text)).await.unwrap_or_else(|_| Err(Error::late()))
    }

    async fn exchange(&self, call: &Call<'_>, text: Option<Vec<u8>>) -> Result<Reply, Error> {
        if let Some(reply) = &self.in_memory {
            let (status, content) = reply(call.path, text.as_deref())?;
            return Ok(Reply { status, content, request_id: None });
        }
        let url = format!("{}{}", self.url, call.path);
        let mut request = self.http.request(call.method.clone(), url).headers(self.headers.clone());
        if let Some(traceparent) = call.traceparent.clone().or_else(|| (self.traceparent)()) {
            request = request.header("traceparent", traceparent);
        }
        if let Some(text) = text {
            request = request.header(CONTENT_TYPE, JSON).body(text);
        }
        let mut response = request.send().await.map_err(failure)?;
        let status = response.status().as_u16();
        let request_id = response.headers().get("x-request-id");
        let request_id = request_id.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let mut content = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failure)? {
            content.extend_from_slice(&chunk);
            if content.len() > BODY_MAX {
                return Err(
                    Error::new(Kind::Answer, "the gate's answer is too long").with_status(status)
                );
            }
        }
        Ok(Reply { status, content, request_id })
    }
}

/// The failure that an error of the HTTP library means.
#[expect(clippy::needless_pass_by_value, reason = "an argument of map_err")]
fn failure(error: reqwest::Error) -> Error {
    let mut cause = error.source();
    let mut innermost = error.to_string();
    while let Some(inner) = cause {
        if inner.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
            return Error::new(Kind::Answer, format!("the gate's answer is not HTTP: {inner}"));
        }
        innermost = inner.to_string();
        cause = inner.source();
    }
    Error::new(Kind::Connection, format!("the connection to the gate failed: {innermost}"))
}
