//! Sends one message once, and returns the result.
//!
//! Names are resolved here, and connections use exactly the addresses that were checked, so a name that resolves differently
//! the second time gains nothing. Redirects are not followed, no proxy is used, and only the beginning of an answer is read.

use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Client, ClientBuilder, Response, redirect};

use crate::address::is_public;
use crate::secret::WebhookSecret;
use crate::target::{Reach, Target};

/// Sends to targets. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sender {
    client: Client,
    reach: Reach,
    deadline: Duration,
}

/// A message to be sent.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// The id, the same for every attempt, so that a receiver recognises a repeat.
    pub id: &'a str,
    /// The time of the attempt, in seconds since 1970.
    pub timestamp_s: u64,
    /// The body, in JSON.
    pub body: &'a str,
    /// The secrets that sign the message; two during a rotation. Without any, the message has no signature, id and time: its
    /// receiver knows another form.
    pub secrets: &'a [WebhookSecret],
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// The beginning of the answer's body.
    pub response: String,
    /// The reason why there was no answer, or why the answer is invalid.
    pub error: Option<String>,
    /// The duration of the attempt.
    pub took_ms: u64,
}

/// The bytes of an answer that are read.
pub const RESPONSE_BYTES_MAX: usize = 1024;
const ANSWER_DEADLINE: Duration = Duration::from_secs(10);
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

impl Sender {
    /// A sender with this reach.
    pub fn new(reach: Reach) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Self::with_deadline(reach, ANSWER_DEADLINE)
    }

    /// The same sender with another deadline for a whole answer.
    pub fn with_deadline(
        reach: Reach,
        deadline: Duration,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let client = builder(reach, deadline).https_only(reach == Reach::Public).build()?;
        Ok(Self { client, reach, deadline })
    }

    /// The reach of the sender.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Sends a message once; any answer of 200 to 299 is success.
    pub async fn send(&self, url: &str, message: &Message<'_>) -> Attempt {
        let began = Instant::now();
        let mut attempt = match Target::parse(url, self.reach) {
            Ok(target) => self.post(&target, message).await,
            Err(error) => Attempt::without_answer(format!("the URL {error}")),
        };
        attempt.took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        attempt
    }

    async fn post(&self, target: &Target, message: &Message<'_>) -> Attempt {
        let request =
            self.client.post(target.url()).headers(headers(message)).body(message.body.to_owned());
        match request.send().await {
            Ok(response) => read(response).await,
            Err(error) => Attempt::without_answer(self.reason(&error)),
        }
    }

    fn reason(&self, error: &reqwest::Error) -> String {
        if error.is_timeout() {
            return format!("no answer within {} ms", self.deadline.as_millis());
        }
        let mut innermost: &dyn Error = error;
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        innermost.to_string().chars().take(200).collect()
    }
}

impl Attempt {
    /// Whether the message arrived.
    pub fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    fn without_answer(error: String) -> Self {
        Self { status: None, response: String::new(), error: Some(error), took_ms: 0 }
    }
}

/// The builder of a client with this reach. The target decides about encryption.
pub(crate) fn builder(reach: Reach, deadline: Duration) -> ClientBuilder {
    Client::builder()
        .dns_resolver(Looked { reach })
        .redirect(redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .http1_only()
        // The address of a reused connection would not be checked again.
        .pool_max_idle_per_host(0)
        .connect_timeout(CONNECT_DEADLINE.min(deadline))
        .timeout(deadline)
}

fn headers(message: &Message<'_>) -> HeaderMap {
    let sign = |secret: &WebhookSecret| secret.sign(message.id, message.timestamp_s, message.body);
    let signatures: Vec<String> = message.secrets.iter().map(sign).collect();
    let value = |text: &str| HeaderValue::from_str(text).expect("ids and base64 are ASCII");
    let own = HeaderName::from_static;
    let mut headers = HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (USER_AGENT, HeaderValue::from_static(concat!("Weir/", env!("CARGO_PKG_VERSION")))),
    ]);
    if !signatures.is_empty() {
        headers.extend([
            (own("webhook-id"), value(message.id)),
            (own("webhook-timestamp"), value(&message.timestamp_s.to_string())),
            (own("webhook-signature"), value(&signatures.join(" "))),
        ]);
    }
    headers
}

/// Reads the status and the beginning of the body. A body that ends early is no error.
async fn read(mut response: Response) -> Attempt {
    let status = response.status();
    let mut bytes = Vec::new();
    while bytes.len() < RESPONSE_BYTES_MAX {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    bytes.truncate(RESPONSE_BYTES_MAX);
    let error = status.is_redirection().then(|| "redirects are not followed".to_owned());
    // Postgres accepts no zero bytes in a text.
    let text = String::from_utf8_lossy(&bytes).replace('\0', "\u{FFFD}");
    Attempt { status: Some(status.as_u16()), response: text, error, took_ms: 0 }
}

/// Resolves names, and refuses those with a private address.
#[derive(Debug, Clone, Copy)]
struct Looked {
    reach: Reach,
}

impl Resolve for Looked {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.reach;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let addresses: Vec<SocketAddr> = found.collect();
            let private = addresses.iter().find(|address| !is_public(address.ip()));
            if let (Some(_), Reach::Public) = (private, reach) {
                return Err("the name leads to an address that is not public".into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
