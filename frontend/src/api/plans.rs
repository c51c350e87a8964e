//! Plans, which replace limits of rules for the customers on them.

use gloo_net::http::Method;
use weir_wire::audit::{RevertBody, Revision};
use weir_wire::page::Page;
use weir_wire::plans::{PlanAnswer, PlanBody};

use super::request::Call;
use super::{Answer, Api};
use crate::browser::encode_component;

impl Api {
    /// All plans of a tenant; a tenant can have at most 100.
    pub fn plans(self, tenant: &str) -> Answer<Vec<PlanAnswer>> {
        self.list(format!("/tenants/{tenant}/plans?limit=200"))
    }

    pub fn create_plan(self, tenant: &str, plan: &PlanBody) -> Answer<PlanAnswer> {
        self.create(format!("/tenants/{tenant}/plans"), plan)
    }

    /// Replaces a plan if its revision is still current; fails with `stale` otherwise. With `keep_existing`, its customers keep
    /// the revision that they have.
    pub fn replace_plan(
        self,
        tenant: &str,
        before: &PlanAnswer,
        plan: &PlanBody,
        keep_existing: bool,
    ) -> Answer<PlanAnswer> {
        let query = if keep_existing { "?keep_existing=true" } else { "" };
        let path = format!("/tenants/{tenant}/plans/{}{query}", before.id);
        self.call(Call::new(Method::PUT, path).if_match(before.revision).body(plan))
    }

    /// One page of a plan's revisions, newest first.
    pub fn plan_revisions(
        self,
        tenant: &str,
        plan: &str,
        cursor: Option<&str>,
    ) -> Answer<Page<Revision>> {
        let from = cursor
            .map(|cursor| format!("?cursor={}", encode_component(cursor)))
            .unwrap_or_default();
        self.read(format!("/tenants/{tenant}/plans/{plan}/revisions{from}"))
    }

    /// Reverts to an earlier revision if `now` is still the current one; fails with `stale` otherwise.
    pub fn revert_plan(self, tenant: &str, now: &PlanAnswer, revision: u64) -> Answer<PlanAnswer> {
        let path = format!("/tenants/{tenant}/plans/{}/revert", now.id);
        let call = Call::new(Method::POST, path).if_match(now.revision);
        self.call(call.body(&RevertBody { revision }))
    }

    pub fn delete_plan(self, tenant: &str, plan: &PlanAnswer) -> Answer<()> {
        let path = format!("/tenants/{tenant}/plans/{}", plan.id);
        self.call(Call::new(Method::DELETE, path).if_match(plan.revision))
    }
}
