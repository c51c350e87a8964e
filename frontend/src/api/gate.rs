//! Checks sent directly to a gate with an API key. The gate is another host, so no cookie or access token is sent.

use gloo_net::http::Request;
use web_sys::RequestCredentials;
use weir_wire::check::{CheckAnswer, CheckBody};

use super::request::read;
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
        let unreachable = |_| Problem::unreachable("The gate");
        let request =
            Request::post(&format!("{}/check?deny_status=200", address.trim_end_matches('/')))
                .header("Authorization", &format!("Bearer {}", key.trim()))
                .credentials(RequestCredentials::Omit)
                .json(check)
                .map_err(unreachable)?;
        read(request.send().await.map_err(unreachable)?).await
    }
}

/// A gate's address as the base of a URL.
pub fn gate_address(listed: &str) -> String {
    if listed.contains("://") {
        return listed.to_owned();
    }
    let scheme = if browser::origin().starts_with("https:") { "https" } else { "http" };
    format!("{scheme}://{listed}")
}
