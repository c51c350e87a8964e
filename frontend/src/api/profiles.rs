//! Profiles, by which proxies ask.

use gloo_net::http::Method;
use weir_wire::audit::{RevertBody, Revision};
use weir_wire::page::Page;
use weir_wire::profiles::{ProfileAnswer, ProfileBody};

use super::request::Call;
use super::{Answer, Api};
use crate::browser::encode_component;

impl Api {
    /// All profiles of a tenant; a tenant can have at most 100.
    pub fn profiles(self, tenant: &str) -> Answer<Vec<ProfileAnswer>> {
        self.list(format!("/tenants/{tenant}/profiles?limit=200"))
    }

    /// Creates a profile, or replaces one if its revision is still current; fails with `stale` otherwise.
    pub fn save_profile(
        self,
        tenant: &str,
        before: Option<&ProfileAnswer>,
        body: &ProfileBody,
    ) -> Answer<ProfileAnswer> {
        let path = format!("/tenants/{tenant}/profiles");
        match before {
            None => self.create(path, body),
            Some(before) => {
                let path = format!("{path}/{}", before.id);
                self.call(Call::new(Method::PUT, path).if_match(before.revision).body(body))
            }
        }
    }

    /// One page of a profile's revisions, newest first.
    pub fn profile_revisions(
        self,
        tenant: &str,
        profile: &str,
        cursor: Option<&str>,
    ) -> Answer<Page<Revision>> {
        let from = cursor
            .map(|cursor| format!("?cursor={}", encode_component(cursor)))
            .unwrap_or_default();
        self.read(format!("/tenants/{tenant}/profiles/{profile}/revisions{from}"))
    }

    /// Reverts to an earlier revision if `now` is still the current one; fails with `stale` otherwise.
    pub fn revert_profile(
        self,
        tenant: &str,
        now: &ProfileAnswer,
        revision: u64,
    ) -> Answer<ProfileAnswer> {
        let path = format!("/tenants/{tenant}/profiles/{}/revert", now.id);
        let call = Call::new(Method::POST, path).if_match(now.revision);
        self.call(call.body(&RevertBody { revision }))
    }

    pub fn delete_profile(self, tenant: &str, id: &str) -> Answer<()> {
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}/profiles/{id}")))
    }
}
