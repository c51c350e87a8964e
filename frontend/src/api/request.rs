//! One HTTP request and its response.

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use gloo_net::http::{Method, Request, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use web_sys::AbortSignal;
use weir_wire::problem::ProblemBody;

use super::Problem;
use crate::browser;
use crate::model::json;

/// An answer that is under way. Boxed, so that the code that waits for it does not contain the code of the request.
pub type Answer<T> = LocalBoxFuture<'static, Result<T, Problem>>;

/// A request that can be sent more than once.
pub(super) struct Call {
    method: Method,
    path: String,
    if_match: Option<String>,
    body: Option<String>,
    until: Option<AbortSignal>,
}

impl Call {
    /// `path` is relative to `/api/v1`.
    pub fn new(method: Method, path: String) -> Self {
        Self { method, path, if_match: None, body: None, until: None }
    }

    pub fn body(mut self, body: &impl Serialize) -> Self {
        self.body = serde_json::to_string(body).ok();
        self
    }

    /// Makes the request conditional on this revision.
    pub fn if_match(mut self, revision: u64) -> Self {
        self.if_match = Some(format!("\"{revision}\""));
        self
    }

    /// Aborts the request when `signal` fires.
    pub fn until(mut self, signal: AbortSignal) -> Self {
        self.until = Some(signal);
        self
    }

    fn build(&self, token: Option<&str>) -> Result<Request, gloo_net::Error> {
        let mut builder = RequestBuilder::new(&format!("/api/v1{}", self.path))
            .method(self.method.clone())
            .abort_signal(self.until.as_ref());
        if let Some(token) = token {
            builder = builder.header("Authorization", &format!("Bearer {token}"));
        }
        if let Some(if_match) = &self.if_match {
            builder = builder.header("If-Match", if_match);
        }
        match &self.body {
            Some(body) => builder.header("Content-Type", "application/json").body(body),
            None => builder.build(),
        }
    }
}

/// A path that has a query, or a query, with further parameters. Those without a value are left out.
pub(super) fn with_parameters<'a>(
    mut path: String,
    parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> String {
    for (name, value) in parameters.into_iter().filter(|(_, value)| !value.is_empty()) {
        path.extend(["&", name, "=", &browser::encode_component(value)]);
    }
    path
}

/// Sends a request that needs no session.
pub(super) fn send<T: DeserializeOwned + 'static>(call: Call) -> Answer<T> {
    parsed(send_openly(call))
}

fn send_openly(call: Call) -> Answer<String> {
    async move { send_text(&call, None).await }.boxed_local()
}

/// Parses a response body that is under way.
pub(super) fn parsed<T: DeserializeOwned + 'static>(text: Answer<String>) -> Answer<T> {
    text.map(|text| parse_body(&text?)).boxed_local()
}

/// Sends the request and returns the response text. Parsing is separate, so that this code is not duplicated for each
/// type.
pub(super) async fn send_text(call: &Call, token: Option<&str>) -> Result<String, Problem> {
    let unreachable = |_| Problem::unreachable("Weir");
    let request = call.build(token).map_err(unreachable)?;
    text(request.send().await.map_err(unreachable)?).await
}

/// Parses a response body.
pub(super) fn parse_body<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    json::read(text).map_err(|_| Problem::unreadable(200))
}

/// Sends the request and returns the response for streaming.
pub(super) async fn open(call: &Call, token: &str) -> Result<Response, Problem> {
    let unreachable = |_| Problem::unreachable("Weir");
    let request = call.build(Some(token)).map_err(unreachable)?;
    let answer = request.send().await.map_err(unreachable)?;
    if answer.ok() {
        Ok(answer)
    } else {
        Err(text(answer).await.err().unwrap_or_else(|| Problem::unreadable(0)))
    }
}

/// Explains why a file of the dashboard could not be loaded: the server is unreachable, or it serves another version.
pub async fn load_failure() -> Problem {
    match Request::get("/").send().await {
        Ok(answer) if answer.ok() => Problem::outdated(),
        _ => Problem::unreachable("Weir"),
    }
}

/// Reads a response.
pub(super) async fn read<T: DeserializeOwned>(answer: Response) -> Result<T, Problem> {
    parse_body(&text(answer).await?)
}

/// The text of a response: a body, nothing (204), or a problem.
async fn text(answer: Response) -> Result<String, Problem> {
    let status = answer.status();
    let text = answer.text().await.map_err(|_| Problem::unreachable("Weir"))?;
    if answer.ok() {
        return Ok(if text.is_empty() { "null".to_owned() } else { text });
    }
    match json::read::<ProblemBody>(&text) {
        Ok(body) => Err(body.into()),
        Err(_) => Err(Problem::unreadable(status)),
    }
}
