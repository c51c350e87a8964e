//! API keys.

use gloo_net::http::Method;
use weir_wire::api_keys::{ApiKey, CreateKey, IssuedKey, RotateKey};

use super::request::Call;
use super::{Answer, Api};

impl Api {
    /// The first 200 keys of a tenant.
    pub fn keys(self, tenant: &str) -> Answer<Vec<ApiKey>> {
        self.list(format!("/tenants/{tenant}/keys?limit=200"))
    }

    pub fn create_key(self, tenant: &str, key: &CreateKey) -> Answer<IssuedKey> {
        self.create(format!("/tenants/{tenant}/keys"), key)
    }

    /// Issues a new secret for a key; the previous one also works for `overlap_s` seconds.
    pub fn rotate_key(self, tenant: &str, key: &str, overlap_s: u32) -> Answer<IssuedKey> {
        let path = format!("/tenants/{tenant}/keys/{key}/rotate");
        self.create(path, &RotateKey { overlap_s })
    }

    pub fn revoke_key(self, tenant: &str, key: &str) -> Answer<()> {
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}/keys/{key}")))
    }
}
