//! The HTTP client for requests to the provider: deadlines, no redirects, bounded answers.

use std::time::Duration;

use openidconnect::{HttpRequest, HttpResponse};
use reqwest::{Client, redirect};

/// The reason why a request to the provider failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("request failed")]
    Http(#[from] reqwest::Error),
    #[error("the answer has more than {ANSWER_BYTES_MAX} bytes")]
    TooLong,
    #[error("the answer is malformed")]
    Malformed(#[from] http::Error),
}

const REQUEST_DEADLINE: Duration = Duration::from_secs(5);
const CONNECT_DEADLINE: Duration = Duration::from_secs(3);
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// A client. `https_only` refuses addresses of the provider's document that are not encrypted.
pub(crate) fn client(https_only: bool) -> Result<Client, reqwest::Error> {
    Client::builder()
        .https_only(https_only)
        // A redirect could lead to an address of this network.
        .redirect(redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(CONNECT_DEADLINE)
        .timeout(REQUEST_DEADLINE)
        .build()
}

/// Sends one request.
pub(crate) async fn send(
    client: Client,
    request: HttpRequest,
) -> Result<HttpResponse, RequestError> {
    let mut answer = client.execute(reqwest::Request::try_from(request)?).await?;
    let mut response = http::Response::builder().status(answer.status());
    for (name, value) in answer.headers() {
        response = response.header(name, value);
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(RequestError::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(response.body(body)?)
}
