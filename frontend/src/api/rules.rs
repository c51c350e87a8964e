//! Rules.

use gloo_net::http::Method;
use weir_wire::audit::{RevertBody, Revision};
use weir_wire::page::Page;
use weir_wire::rules::{RULE_IDS_MAX, RuleAnswer, RuleBody};

use super::request::{Call, with_parameters};
use super::{Answer, Api, Problem};
use crate::browser::encode_component;

/// The selection of rules to return.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleSelection {
    pub feature: RuleFeature,
    /// Empty for all.
    pub namespace: String,
}

impl RuleSelection {
    /// The rules of all namespaces with a feature.
    pub fn with(feature: RuleFeature) -> Self {
        Self { feature, namespace: String::new() }
    }
}

/// A feature of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RuleFeature {
    /// Every rule has it.
    #[default]
    Anything,
    /// The rule counts by at least one attribute.
    CountBy,
    /// The rule has a quota.
    Quota,
}

impl RuleFeature {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Anything => "",
            Self::CountBy => "count_by",
            Self::Quota => "quota",
        }
    }
}

impl Api {
    /// All rules of a tenant.
    pub async fn rules(self, tenant: &str) -> Result<Vec<RuleAnswer>, Problem> {
        let Page { mut data, next_cursor } = self.some_rules(tenant).await?;
        if let Some(cursor) = next_cursor {
            data.append(&mut self.rules_after(tenant, cursor).await?);
        }
        Ok(data)
    }

    /// All rules after the first page.
    pub async fn rules_after(
        self,
        tenant: &str,
        cursor: String,
    ) -> Result<Vec<RuleAnswer>, Problem> {
        let (mut rules, mut next) = (Vec::new(), Some(cursor));
        while let Some(cursor) = next {
            let path =
                format!("/tenants/{tenant}/rules?limit=200&cursor={}", encode_component(&cursor));
            let mut page: Page<RuleAnswer> = self.read(path).await?;
            rules.append(&mut page.data);
            next = page.next_cursor;
        }
        Ok(rules)
    }

    /// The first page of rules.
    pub fn some_rules(self, tenant: &str) -> Answer<Page<RuleAnswer>> {
        self.first_rules(tenant, 200, &RuleSelection::default(), "")
    }

    /// A short first page of the selected rules whose `namespace/name` contains a text.
    pub fn search_rules(
        self,
        tenant: &str,
        having: &RuleSelection,
        text: &str,
    ) -> Answer<Page<RuleAnswer>> {
        self.first_rules(tenant, if text.is_empty() { 200 } else { 50 }, having, text)
    }

    fn first_rules(
        self,
        tenant: &str,
        most: u32,
        having: &RuleSelection,
        text: &str,
    ) -> Answer<Page<RuleAnswer>> {
        let path = format!("/tenants/{tenant}/rules?limit={most}");
        let namespace = having.namespace.as_str();
        let parameters =
            [("has", having.feature.as_str()), ("namespace", namespace), ("search", text)];
        self.read(with_parameters(path, parameters))
    }

    /// The rules with these ids; missing ids are skipped.
    pub async fn rules_by_ids(
        self,
        tenant: &str,
        ids: &[String],
    ) -> Result<Vec<RuleAnswer>, Problem> {
        let mut rules = Vec::new();
        for ids in ids.chunks(RULE_IDS_MAX) {
            let path = format!(
                "/tenants/{tenant}/rules?limit=200&ids={}",
                encode_component(&ids.join(","))
            );
            rules.append(&mut self.read::<Page<RuleAnswer>>(path).await?.data);
        }
        Ok(rules)
    }

    /// Whether a tenant has any rules.
    pub async fn has_rules(self, tenant: &str) -> Result<bool, Problem> {
        let path = format!("/tenants/{tenant}/rules?limit=1");
        Ok(!self.read::<Page<RuleAnswer>>(path).await?.data.is_empty())
    }

    pub fn rule(self, tenant: &str, rule: &str) -> Answer<RuleAnswer> {
        self.read(format!("/tenants/{tenant}/rules/{}", encode_component(rule)))
    }

    /// One page of a rule's revisions, newest first.
    pub fn revisions(
        self,
        tenant: &str,
        rule: &str,
        cursor: Option<&str>,
    ) -> Answer<Page<Revision>> {
        let from = cursor
            .map(|cursor| format!("?cursor={}", encode_component(cursor)))
            .unwrap_or_default();
        self.read(format!("/tenants/{tenant}/rules/{rule}/revisions{from}"))
    }

    /// Reverts to an earlier revision if `now` is still the current one; fails with `stale` otherwise.
    pub fn revert_rule(self, tenant: &str, now: &RuleAnswer, revision: u64) -> Answer<RuleAnswer> {
        let path = format!("/tenants/{tenant}/rules/{}/revert", now.id);
        let call = Call::new(Method::POST, path).if_match(now.revision);
        self.call(call.body(&RevertBody { revision }))
    }

    pub fn create_rule(self, tenant: &str, rule: &RuleBody) -> Answer<RuleAnswer> {
        self.create(format!("/tenants/{tenant}/rules"), rule)
    }

    /// Replaces a rule if its revision is still current; fails with `stale` otherwise.
    pub fn replace_rule(
        self,
        tenant: &str,
        before: &RuleAnswer,
        rule: &RuleBody,
    ) -> Answer<RuleAnswer> {
        let path = format!("/tenants/{tenant}/rules/{}", before.id);
        self.call(Call::new(Method::PUT, path).if_match(before.revision).body(rule))
    }

    pub fn delete_rule(self, tenant: &str, rule: &RuleAnswer) -> Answer<()> {
        let path = format!("/tenants/{tenant}/rules/{}", rule.id);
        self.call(Call::new(Method::DELETE, path).if_match(rule.revision))
    }
}
