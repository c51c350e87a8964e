//! API keys.

use gloo_net::http::Method;
use weir_wire::api_keys::{ApiKey, CreateKey, IssuedKey, RotateKey};
use weir_wire::page::Page;

use super::request::Call;
use super::{Api, Problem};

impl Api {
    /// The first 200 keys of a tenant.
    pub async fn keys(self, tenant: &str) -> Result<Vec<ApiKey>, Problem> {
        let page: Page<ApiKey> = self.read(format!("/tenants/{tenant}/keys?limit=200")).await?;
        Ok(page.data)
    }

    pub async fn create_key(self, tenant: &str, key: &CreateKey) -> Result<IssuedKey, Problem> {
        self.create(format!("/tenants/{tenant}/keys"), key).await
    }

    /// Issues a new secret for a key; the previous one also works for `overlap_s` seconds.
    pub async fn rotate_key(
        self,
        tenant: &str,
        key: &str,
        overlap_s: u32,
    ) -> Result<IssuedKey, Problem> {
        let path = format!("/tenants/{tenant}/keys/{key}/rotate");
        self.create(path, &RotateKey { overlap_s }).await
    }

    pub async fn revoke_key(self, tenant: &str, key: &str) -> Result<(), Problem> {
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}/keys/{key}"))).await
    }
}
