//! One subject across all rules: its counters, and temporary overrides.

use gloo_net::http::Method;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::search::SearchAnswer;
use weir_wire::subjects::{
    AllowOrBlockBody, InspectSubjectAnswer, InspectSubjectBody, NearLimitAnswer, PlanNearLimitBody,
    RaiseSubjectBody,
};

use super::request::{Call, with_parameters};
use super::{Answer, Api};
use crate::browser;

impl Api {
    /// The counters, overrides and denials of a subject in every rule that counts by its attributes.
    pub fn inspect_subject(
        self,
        tenant: &str,
        body: &InspectSubjectBody,
    ) -> Answer<InspectSubjectAnswer> {
        let path = format!("/tenants/{tenant}/subjects/inspect");
        self.call(Call::new(Method::POST, path).body(body))
    }

    /// The subjects that have used `percent` of a limit or more, of one rule and one namespace, or of all (empty texts).
    pub fn near_limit(
        self,
        tenant: &str,
        rule: &str,
        namespace: &str,
        percent: u8,
    ) -> Answer<NearLimitAnswer> {
        let path = format!("/tenants/{tenant}/subjects/near-limit?percent={percent}");
        self.read(with_parameters(path, [("rule_id", rule), ("namespace", namespace)]))
    }

    /// The customers that have used most of the limits that a changed plan would give them.
    pub fn near_limit_of_plan(
        self,
        tenant: &str,
        body: &PlanNearLimitBody,
    ) -> Answer<NearLimitAnswer> {
        let path = format!("/tenants/{tenant}/subjects/near-limit");
        self.call(Call::new(Method::POST, path).body(body))
    }

    /// Searches subjects, rules, overrides, alerts, webhooks, members, keys and audit entries.
    pub fn search(self, tenant: &str, text: &str) -> Answer<SearchAnswer> {
        self.read(format!("/tenants/{tenant}/search?q={}", browser::encode_component(text)))
    }

    /// Multiplies the limits of a subject for some time.
    pub fn raise_subject(self, tenant: &str, body: &RaiseSubjectBody) -> Answer<OverrideAnswer> {
        self.create(format!("/tenants/{tenant}/subjects/raise"), body)
    }

    /// Allows every check of a subject for some time.
    pub fn allow_subject(self, tenant: &str, body: &AllowOrBlockBody) -> Answer<OverrideAnswer> {
        self.create(format!("/tenants/{tenant}/subjects/allow"), body)
    }

    /// Denies a subject for some time.
    pub fn block_subject(self, tenant: &str, body: &AllowOrBlockBody) -> Answer<OverrideAnswer> {
        self.create(format!("/tenants/{tenant}/subjects/block"), body)
    }
}
