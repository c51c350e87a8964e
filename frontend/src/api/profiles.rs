//! Profiles, by which proxies ask.

use gloo_net::http::Method;
use weir_wire::audit::{RevertBody, Revision};
use weir_wire::page::Page;
use weir_wire::profiles::{ProfileAnswer, ProfileBody};

use super::request::Call;
use super::{Api, Problem};
use crate::browser::encode_component;

impl Api {
    /// All profiles of a tenant; a tenant can have at most 100.
    pub async fn profiles(self, tenant: &str) -> Result<Vec<ProfileAnswer>, Problem> {
        let page: Page<ProfileAnswer> =
            self.read(format!("/tenants/{tenant}/profiles?limit=200")).await?;
        Ok(page.data)
    }

    /// Creates a profile, or replaces one if its revision is still current; fails with `stale` otherwise.
    pub async fn save_profile(
        self,
        tenant: &str,
        before: Option<&ProfileAnswer>,
        body: &ProfileBody,
    ) -> Result<ProfileAnswer, Problem> {
        let path = format!("/tenants/{tenant}/profiles");
        match before {
            None => self.create(path, body).await,
            Some(before) => {
                let path = format!("{path}/{}", before.id);
                self.call(Call::new(Method::PUT, path).if_match(before.revision).body(body)).await
            }
        }
    }

    /// One page of a profile's revisions, newest first.
    pub async fn profile_revisions(
        self,
        tenant: &str,
        profile: &str,
        cursor: Option<&str>,
    ) -> Result<Page<Revision>, Problem> {
        let from = cursor
            .map(|cursor| format!("?cursor={}", encode_component(cursor)))
            .unwrap_or_default();
        self.read(format!("/tenants/{tenant}/profiles/{profile}/revisions{from}")).await
    }

    /// Reverts to an earlier revision if `now` is still the current one; fails with `stale` otherwise.
    pub async fn revert_profile(
        self,
        tenant: &str,
        now: &ProfileAnswer,
        revision: u64,
    ) -> Result<ProfileAnswer, Problem> {
        let path = format!("/tenants/{tenant}/profiles/{}/revert", now.id);
        let call = Call::new(Method::POST, path).if_match(now.revision);
        self.call(call.body(&RevertBody { revision })).await
    }

    pub async fn delete_profile(self, tenant: &str, id: &str) -> Result<(), Problem> {
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}/profiles/{id}"))).await
    }
}
