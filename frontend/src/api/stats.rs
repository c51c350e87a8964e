//! Statistics.

use weir_wire::quota_usage::QuotaUsagePage;
use weir_wire::stats::{
    Denials, DeniedRequest, Events, RuleSegments, RulesSeries, Series, Summary, Top,
};

use super::request::with_parameters;
use super::{Answer, Api};
use crate::browser;

/// The scope of statistics; `None` means all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatsScope {
    pub tenant: String,
    pub rule: Option<String>,
    /// Empty for all.
    pub namespace: String,
    /// Empty for all. Only counts are known by region.
    pub region: String,
    pub from_ms: i64,
    pub to_ms: i64,
}

impl StatsScope {
    /// All of a tenant in the last `ms` milliseconds.
    pub fn last(tenant: String, ms: i64) -> Self {
        let to_ms = browser::now_ms();
        let (namespace, region) = (String::new(), String::new());
        Self { tenant, rule: None, namespace, region, from_ms: to_ms - ms, to_ms }
    }

    fn query(&self) -> String {
        let (from, to) = (browser::rfc3339(self.from_ms), browser::rfc3339(self.to_ms));
        let rule = self.rule.as_deref().unwrap_or_default();
        let parameters = [("rule_id", rule), ("namespace", &self.namespace)];
        with_parameters(format!("from={from}&to={to}"), parameters)
    }

    fn query_of_region(&self) -> String {
        with_parameters(self.query(), [("region", &*self.region)])
    }
}

impl Api {
    pub fn series(self, about: &StatsScope) -> Answer<Series> {
        self.read(format!("/tenants/{}/stats/series?{}", about.tenant, about.query_of_region()))
    }

    /// The decisions in steps of 10 seconds, for recent times.
    pub fn fine_series(self, about: &StatsScope) -> Answer<Series> {
        let query = about.query_of_region();
        self.read(format!("/tenants/{}/stats/series?step_s=10&{query}", about.tenant))
    }

    pub fn summary(self, about: &StatsScope) -> Answer<Summary> {
        self.read(format!("/tenants/{}/stats/summary?{}", about.tenant, about.query_of_region()))
    }

    /// The most denied subjects or rules, at most `most`; `by` is `subject` or `rule`.
    pub fn top(self, about: &StatsScope, by: &str, most: u32) -> Answer<Top> {
        let query = if by == "rule" { about.query_of_region() } else { about.query() };
        self.read(format!("/tenants/{}/stats/top?by={by}&limit={most}&{query}", about.tenant))
    }

    /// The subjects that are most checked or most denied; `order` is `checks` or `denied`.
    pub fn top_subjects(self, about: &StatsScope, order: &str, most: u32) -> Answer<Top> {
        let query = about.query();
        let path = format!(
            "/tenants/{}/stats/top?by=subject&order={order}&limit={most}&{query}",
            about.tenant
        );
        self.read(path)
    }

    /// One page of what subjects have used of their quotas; an empty namespace is all, an empty period the present one.
    pub fn quota_usage(
        self,
        tenant: &str,
        namespace: &str,
        period: &str,
        cursor: Option<String>,
    ) -> Answer<QuotaUsagePage> {
        let path = format!("/tenants/{tenant}/usage?limit=200");
        let cursor = cursor.unwrap_or_default();
        let parameters = [("namespace", namespace), ("period", period), ("cursor", &cursor)];
        self.read(with_parameters(path, parameters))
    }

    /// The decisions of a rule by variant, by share of subjects and by class.
    pub fn rule_segments(self, about: &StatsScope, rule: &str) -> Answer<RuleSegments> {
        let query = about.query();
        self.read(format!("/tenants/{}/rules/{rule}/segments?{query}", about.tenant))
    }

    /// The changes, alerts and outages that explain the statistics, the newest first.
    pub fn events(self, about: &StatsScope) -> Answer<Events> {
        self.read(format!("/tenants/{}/stats/events?{}", about.tenant, about.query()))
    }

    /// The last hour of each rule, in steps of five minutes.
    pub fn rules_last_hour(self, tenant: &str) -> Answer<RulesSeries> {
        self.read(format!("/tenants/{tenant}/stats/rules"))
    }

    /// The denials of one request, then and now.
    pub fn denied_request(self, tenant: &str, request_id: &str) -> Answer<DeniedRequest> {
        let id = browser::encode_component(request_id);
        self.read(format!("/tenants/{tenant}/stats/denials/{id}"))
    }

    /// The most recent denials of a customer.
    pub fn denials_of_customer(self, tenant: &str, customer: &str) -> Answer<Denials> {
        let customer = browser::encode_component(customer);
        self.read(format!("/tenants/{tenant}/stats/denials?limit=100&customer={customer}"))
    }

    /// The most recent denials of one rule or of all, and of one namespace or of all (an empty text).
    /// `cursor` continues an earlier page.
    pub fn denials(
        self,
        tenant: &str,
        rule: Option<&str>,
        namespace: &str,
        cursor: Option<&str>,
    ) -> Answer<Denials> {
        let limit = if cursor.is_some() { 200 } else { 100 };
        let path = format!("/tenants/{tenant}/stats/denials?limit={limit}");
        let parameters = [
            ("rule_id", rule.unwrap_or_default()),
            ("namespace", namespace),
            ("cursor", cursor.unwrap_or_default()),
        ];
        self.read(with_parameters(path, parameters))
    }
}
