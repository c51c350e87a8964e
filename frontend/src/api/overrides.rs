//! Overrides, and the counters of their subjects.

use gloo_net::http::Method;
use weir_wire::overrides::{
    BulkOverridesAnswer, BulkOverridesBody, OverrideAnswer, OverrideBody, OverridesPage,
    RestoreOverrideBody,
};
use weir_wire::tester::{InspectAnswer, InspectBody, ResetAnswer, ResetBody};

use super::request::{Call, with_parameters};
use super::{Answer, Api, Problem};

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
    pub fn overrides(
        self,
        tenant: &str,
        search: &OverrideSearch,
        cursor: Option<&str>,
    ) -> Answer<OverridesPage> {
        let path = format!("/tenants/{tenant}/overrides?limit=200");
        let parameters = [
            ("subject", search.subject.as_str()),
            ("rule_id", &search.rule_id),
            ("namespace", &search.namespace),
            ("cursor", cursor.unwrap_or_default()),
        ];
        self.read(with_parameters(path, parameters))
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
    pub fn get_override(self, tenant: &str, id: &str) -> Answer<OverrideAnswer> {
        self.read(format!("/tenants/{tenant}/overrides/{id}"))
    }

    pub fn create_override(self, tenant: &str, body: &OverrideBody) -> Answer<OverrideAnswer> {
        self.create(format!("/tenants/{tenant}/overrides"), body)
    }

    /// Creates a deleted override again, in the set that owned it.
    pub fn restore_override(self, tenant: &str, deleted: OverrideAnswer) -> Answer<OverrideAnswer> {
        let OverrideAnswer { body, managed_by, applied_digest, .. } = deleted;
        let body = RestoreOverrideBody { body, managed_by, applied_digest };
        self.create(format!("/tenants/{tenant}/overrides/restore"), &body)
    }

    /// Replaces an override if its revision is still current; fails with `stale` otherwise.
    pub fn replace_override(
        self,
        tenant: &str,
        before: &OverrideAnswer,
        body: &OverrideBody,
    ) -> Answer<OverrideAnswer> {
        let path = format!("/tenants/{tenant}/overrides/{}", before.id);
        self.call(Call::new(Method::PUT, path).if_match(before.revision).body(body))
    }

    pub fn delete_override(self, tenant: &str, deleted: &OverrideAnswer) -> Answer<()> {
        let path = format!("/tenants/{tenant}/overrides/{}", deleted.id);
        self.call(Call::new(Method::DELETE, path).if_match(deleted.revision))
    }

    /// Writes several overrides in one transaction, or plans to.
    pub fn batch_overrides(
        self,
        tenant: &str,
        body: &BulkOverridesBody,
    ) -> Answer<BulkOverridesAnswer> {
        self.create(format!("/tenants/{tenant}/overrides/bulk"), body)
    }

    /// The state of a rule's counters for some subjects.
    pub fn inspect_counters(self, tenant: &str, body: &InspectBody) -> Answer<InspectAnswer> {
        let path = format!("/tenants/{tenant}/counters/inspect");
        self.call(Call::new(Method::POST, path).body(body))
    }

    /// Resets the counters of a subject in a rule.
    pub fn reset_counters(self, tenant: &str, body: &ResetBody) -> Answer<ResetAnswer> {
        self.create(format!("/tenants/{tenant}/counters/reset"), body)
    }
}
