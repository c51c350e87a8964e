//! A real check at a gate, with a key: another host, so neither cookie nor token goes along.

use gloo_net::http::Request;
use web_sys::RequestCredentials;
use weir_wire::check::{CheckAnswer, CheckBody};

use super::request::read;
use super::{Api, Problem};
use crate::browser;

impl Api {
    /// Asks the gate at `address`; a denial is an answer like any other.
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

/// A gate's address as the start of a link.
pub fn gate_address(listed: &str) -> String {
    if listed.contains("://") {
        return listed.to_owned();
    }
    let scheme = if browser::origin().starts_with("https:") { "https" } else { "http" };
    format!("{scheme}://{listed}")
}
