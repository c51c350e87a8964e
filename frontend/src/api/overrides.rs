//! Overrides, and the counters of their subjects.

use gloo_net::http::Method;
use weir_wire::overrides::{
    BulkOverridesAnswer, BulkOverridesBody, OverrideAnswer, OverrideBody, RestoreOverrideBody,
};
use weir_wire::page::Page;
use weir_wire::tester::{InspectAnswer, InspectBody, ResetAnswer, ResetBody};

use super::request::Call;
use super::{Api, Problem};
use crate::browser::encode_component;

/// The overrides to return; empty texts do not restrict them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OverrideSearch {
    /// A text in the subject.
    pub subject: String,
    pub rule_id: String,
    pub namespace: String,
}

impl Api {
    /// One page of overrides.
    pub async fn overrides(
        self,
        tenant: &str,
        search: &OverrideSearch,
        cursor: Option<&str>,
    ) -> Result<Page<OverrideAnswer>, Problem> {
        let mut path = format!("/tenants/{tenant}/overrides?limit=200");
        let parameters = [
            ("subject", search.subject.as_str()),
            ("rule_id", &search.rule_id),
            ("namespace", &search.namespace),
            ("cursor", cursor.unwrap_or_default()),
        ];
        for (name, value) in parameters.into_iter().filter(|(_, value)| !value.is_empty()) {
            path.extend(["&", name, "=", &encode_component(value)]);
        }
        self.read(path).await
    }

    /// All overrides of a tenant.
    pub async fn all_overrides(self, tenant: &str) -> Result<Vec<OverrideAnswer>, Problem> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let page =
                self.overrides(tenant, &OverrideSearch::default(), cursor.as_deref()).await?;
            all.extend(page.data);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(all);
            }
        }
    }

    /// The current revision of an override.
    pub async fn get_override(self, tenant: &str, id: &str) -> Result<OverrideAnswer, Problem> {
        self.read(format!("/tenants/{tenant}/overrides/{id}")).await
    }

    pub async fn create_override(
        self,
        tenant: &str,
        body: &OverrideBody,
    ) -> Result<OverrideAnswer, Problem> {
        self.create(format!("/tenants/{tenant}/overrides"), body).await
    }

    /// Creates a deleted override again, in the set that owned it.
    pub async fn restore_override(
        self,
        tenant: &str,
        deleted: OverrideAnswer,
    ) -> Result<OverrideAnswer, Problem> {
        let OverrideAnswer { body, managed_by, applied_digest, .. } = deleted;
        let body = RestoreOverrideBody { body, managed_by, applied_digest };
        self.create(format!("/tenants/{tenant}/overrides/restore"), &body).await
    }

    /// Replaces an override if its revision is still current; fails with `stale` otherwise.
    pub async fn replace_override(
        self,
        tenant: &str,
        before: &OverrideAnswer,
        body: &OverrideBody,
    ) -> Result<OverrideAnswer, Problem> {
        let path = format!("/tenants/{tenant}/overrides/{}", before.id);
        self.call(Call::new(Method::PUT, path).if_match(before.revision).body(body)).await
    }

    pub async fn delete_override(
        self,
        tenant: &str,
        deleted: &OverrideAnswer,
    ) -> Result<(), Problem> {
        let path = format!("/tenants/{tenant}/overrides/{}", deleted.id);
        self.call(Call::new(Method::DELETE, path).if_match(deleted.revision)).await
    }

    /// Writes several overrides in one transaction, or plans to.
    pub async fn batch_overrides(
        self,
        tenant: &str,
        body: &BulkOverridesBody,
    ) -> Result<BulkOverridesAnswer, Problem> {
        self.create(format!("/tenants/{tenant}/overrides/bulk"), body).await
    }

    /// The state of a rule's counters for some subjects.
    pub async fn inspect_counters(
        self,
        tenant: &str,
        body: &InspectBody,
    ) -> Result<InspectAnswer, Problem> {
        let path = format!("/tenants/{tenant}/counters/inspect");
        self.call(Call::new(Method::POST, path).body(body)).await
    }

    /// Resets the counters of a subject in a rule.
    pub async fn reset_counters(
        self,
        tenant: &str,
        body: &ResetBody,
    ) -> Result<ResetAnswer, Problem> {
        self.create(format!("/tenants/{tenant}/counters/reset"), body).await
    }
}
