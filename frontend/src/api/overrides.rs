//! Overrides, and the counters they stand beside.

use gloo_net::http::Method;
use weir_wire::overrides::{BulkOverridesAnswer, BulkOverridesBody, OverrideAnswer, OverrideBody};
use weir_wire::page::Page;
use weir_wire::tester::{InspectAnswer, InspectBody, ResetAnswer, ResetBody};

use super::request::Call;
use super::{Api, Problem};
use crate::browser::encoded;

impl Api {
    /// A page of those with a text in their subject and of a rule, if these are given.
    pub async fn overrides(
        self,
        tenant: &str,
        subject: &str,
        rule: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<Page<OverrideAnswer>, Problem> {
        let mut path = format!("/tenants/{tenant}/overrides?limit=200");
        for (name, value) in [("subject", Some(subject)), ("rule_id", rule), ("cursor", cursor)] {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                path.extend(["&", name, "=", &encoded(value)]);
            }
        }
        self.read(path).await
    }

    /// All of them.
    pub async fn all_overrides(self, tenant: &str) -> Result<Vec<OverrideAnswer>, Problem> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.overrides(tenant, "", None, cursor.as_deref()).await?;
            all.extend(page.data);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(all);
            }
        }
    }

    /// One as it is now.
    pub async fn override_now(self, tenant: &str, id: &str) -> Result<OverrideAnswer, Problem> {
        self.read(format!("/tenants/{tenant}/overrides/{id}")).await
    }

    pub async fn create_override(
        self,
        tenant: &str,
        body: &OverrideBody,
    ) -> Result<OverrideAnswer, Problem> {
        self.create(format!("/tenants/{tenant}/overrides"), body).await
    }

    /// Writes an override over the revision it was read at; a newer one there is `stale`.
    pub async fn replace_override(
        self,
        tenant: &str,
        before: &OverrideAnswer,
        body: &OverrideBody,
    ) -> Result<OverrideAnswer, Problem> {
        let path = format!("/tenants/{tenant}/overrides/{}", before.id);
        self.call(Call::new(Method::PUT, path).if_match(before.revision).body(body)).await
    }

    pub async fn delete_override(self, tenant: &str, it: &OverrideAnswer) -> Result<(), Problem> {
        let path = format!("/tenants/{tenant}/overrides/{}", it.id);
        self.call(Call::new(Method::DELETE, path).if_match(it.revision)).await
    }

    /// Writes many: all or none.
    pub async fn write_overrides(
        self,
        tenant: &str,
        overrides: Vec<OverrideBody>,
    ) -> Result<BulkOverridesAnswer, Problem> {
        let body = BulkOverridesBody { overrides };
        self.create(format!("/tenants/{tenant}/overrides/bulk"), &body).await
    }

    /// How some subjects stand with a rule.
    pub async fn look_at_counters(
        self,
        tenant: &str,
        body: &InspectBody,
    ) -> Result<InspectAnswer, Problem> {
        let path = format!("/tenants/{tenant}/counters/inspect");
        self.call(Call::new(Method::POST, path).body(body)).await
    }

    /// Forgets what a rule counted of a subject.
    pub async fn reset_counters(
        self,
        tenant: &str,
        body: &ResetBody,
    ) -> Result<ResetAnswer, Problem> {
        self.create(format!("/tenants/{tenant}/counters/reset"), body).await
    }
}
