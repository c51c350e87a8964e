//! Checks sent directly to a gate with an API key. The gate is another host, so no cookie or access token is sent.

use gloo_net::http::{Request, Response};
use web_sys::RequestCredentials;
use weir_wire::check::{CheckAnswer, CheckBody};

use super::request::{parse_body, read};
use super::{Api, Problem};
use crate::browser;

impl Api {
    /// Sends a check to the gate at `address`. A denial is a successful answer.
    pub async fn check(
        self,
        address: &str,
        key: &str,
        check: &CheckBody,
    ) -> Result<CheckAnswer, Problem> {
        read(post(address, "/check?deny_status=200", key, check).await?).await
    }

    /// Sends a check as a service does: a denial has the status 429.
    pub async fn check_as_service(
        self,
        address: &str,
        key: &str,
        check: &CheckBody,
    ) -> Result<GateResponse, Problem> {
        let response = post(address, "/check", key, check).await?;
        let (status, retry_after) = (response.status(), response.headers().get("retry-after"));
        let answer = if status == DENIED {
            let text = response.text().await.map_err(|_| Problem::unreachable("The gate"))?;
            parse_body(&text)?
        } else {
            read(response).await?
        };
        Ok(GateResponse { status, retry_after, answer })
    }
}

async fn post(
    address: &str,
    path: &str,
    key: &str,
    check: &CheckBody,
) -> Result<Response, Problem> {
    let unreachable = |_| Problem::unreachable("The gate");
    let request = Request::post(&format!("{}{path}", address.trim_end_matches('/')))
        .header("Authorization", &format!("Bearer {}", key.trim()))
        .credentials(RequestCredentials::Omit)
        .json(check)
        .map_err(unreachable)?;
    request.send().await.map_err(unreachable)
}

/// The status of a denial.
const DENIED: u16 = 429;

/// The answer of a gate as a service gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateResponse {
    /// 200, or 429 for a denial.
    pub status: u16,
    /// The header `Retry-After`, in seconds.
    pub retry_after: Option<String>,
    pub answer: CheckAnswer,
}

/// A gate's address as the base of a URL.
pub fn gate_address(listed: &str) -> String {
    if listed.contains("://") {
        return listed.to_owned();
    }
    let scheme = if browser::origin().starts_with("https:") { "https" } else { "http" };
    format!("{scheme}://{listed}")
}
