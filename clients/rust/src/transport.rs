//! How requests are sent.

use std::error::Error as _;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use crate::error::{Error, Kind};
use crate::options::{Options, WrongOption};

/// The longest answer that is read: more than a batch of 100 checks with the most limits.
const BODY_MAX: usize = 8 << 20;
/// Shorter than the time after which gates and load balancers close idle connections.
const IDLE: Duration = Duration::from_secs(5);

/// Sends requests to one address. Uses no proxy of the environment, and follows no redirect.
#[derive(Debug)]
pub(crate) struct Transport {
    http: reqwest::Client,
    url: String,
    timeout: Duration,
}

/// A status of 200 or 429, and the body.
pub(crate) type Reply = (u16, Vec<u8>);

impl Transport {
    pub fn new(options: &Options) -> Result<Self, WrongOption> {
        let mut headers = HeaderMap::new();
        let json = HeaderValue::from_static("application/json");
        let key = HeaderValue::try_from(format!("Bearer {}", options.key));
        headers.insert(AUTHORIZATION, key.map_err(|_| WrongOption("key: an API key is needed"))?);
        headers.insert(CONTENT_TYPE, json.clone());
        headers.insert(ACCEPT, json);
        let http = reqwest::Client::builder()
            .default_headers(headers)
            .redirect(Policy::none())
            .no_proxy()
            .http1_only()
            .pool_idle_timeout(IDLE)
            .build()
            .map_err(|_| WrongOption("url: TLS is not available"))?;
        Ok(Self { http, url: options.url.clone(), timeout: options.timeout })
    }

    /// Sends a request; once more if the connection failed, and it is repeatable.
    pub async fn send(
        &self,
        path: &str,
        body: &impl Serialize,
        repeatable: bool,
    ) -> Result<Reply, Error> {
        let deadline = Instant::now() + self.timeout;
        let text = serde_json::to_vec(body).expect("maps of texts are JSON");
        match self.send_once(path, text.clone(), deadline).await {
            Err(error)
                if repeatable && error.kind == Kind::Connection && Instant::now() < deadline =>
            {
                self.send_once(path, text, deadline).await
            }
            outcome => outcome,
        }
    }

    async fn send_once(
        &self,
        path: &str,
        text: Vec<u8>,
        deadline: Instant,
    ) -> Result<Reply, Error> {
        timeout_at(deadline, self.exchange(path, text))
            .await
            .unwrap_or_else(|_| Err(Error::new(Kind::Timeout, "the gate did not answer in time")))
    }

    async fn exchange(&self, path: &str, text: Vec<u8>) -> Result<Reply, Error> {
        let url = format!("{}{path}", self.url);
        let mut response = self.http.post(url).body(text).send().await.map_err(failure)?;
        let status = response.status().as_u16();
        let mut content = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failure)? {
            content.extend_from_slice(&chunk);
            if content.len() > BODY_MAX {
                return Err(
                    Error::new(Kind::Answer, "the gate's answer is too long").with_status(status)
                );
            }
        }
        if status == 200 || status == 429 {
            Ok((status, content))
        } else {
            Err(Error::problem(status, &content))
        }
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
