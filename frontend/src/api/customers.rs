//! Customers, their assignments to plans, and the counts of each.

use gloo_net::http::Method;
use weir_wire::customers::{
    CustomerAnswer, CustomerEntry, CustomerUsage, ViewTokenAnswer, ViewTokenBody,
};
use weir_wire::page::Page;
use weir_wire::plans::{
    AssignmentAnswer, AssignmentBody, BulkAssignmentsAnswer, BulkAssignmentsBody,
};

use super::request::{Call, with_parameters};
use super::{Answer, Api};
use crate::browser::encode_component;

/// The customers to return; empty texts do not restrict them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CustomerSearch {
    /// How their names begin.
    pub prefix: String,
    /// The id of their plan.
    pub plan: String,
    /// `denied` for those that were denied today, the most denied first, on one page; empty for all by name. Not with a plan.
    pub order: String,
}

impl Api {
    /// One page of customers.
    pub fn customers(
        self,
        tenant: &str,
        search: &CustomerSearch,
        cursor: Option<&str>,
    ) -> Answer<Page<CustomerEntry>> {
        let path = format!("/tenants/{tenant}/customers?limit=50&used=true");
        let parameters = [
            ("query", search.prefix.as_str()),
            ("plan", &search.plan),
            ("order", &search.order),
            ("cursor", cursor.unwrap_or_default()),
        ];
        self.read(with_parameters(path, parameters))
    }

    /// A customer with its assignments.
    pub fn customer(self, tenant: &str, customer: &str) -> Answer<CustomerAnswer> {
        self.read(path(tenant, customer))
    }

    /// The counts of a customer from one day of UTC to another.
    pub fn customer_usage(
        self,
        tenant: &str,
        customer: &str,
        [from, to]: [&str; 2],
    ) -> Answer<CustomerUsage> {
        self.read(format!("{}/usage?from={from}&to={to}", path(tenant, customer)))
    }

    /// The same counts as CSV.
    pub fn customer_usage_csv(
        self,
        tenant: &str,
        customer: &str,
        [from, to]: [&str; 2],
    ) -> Answer<String> {
        let path = format!("{}/usage?from={from}&to={to}&format=csv", path(tenant, customer));
        self.fetch(Call::new(Method::GET, path))
    }

    /// A token with which the customer reads its own usage for 15 minutes.
    pub fn view_token(self, tenant: &str, customer: &str) -> Answer<ViewTokenAnswer> {
        let path = format!("{}/view-token", path(tenant, customer));
        self.create(path, &ViewTokenBody { ttl_s: 900 })
    }

    /// Assigns a customer to a plan.
    pub fn assign(self, tenant: &str, body: &AssignmentBody) -> Answer<AssignmentAnswer> {
        self.create(format!("/tenants/{tenant}/assignments"), body)
    }

    /// Assigns many customers, or none.
    pub fn assign_many(
        self,
        tenant: &str,
        assignments: Vec<AssignmentBody>,
    ) -> Answer<BulkAssignmentsAnswer> {
        let path = format!("/tenants/{tenant}/assignments/bulk");
        self.create(path, &BulkAssignmentsBody { assignments })
    }

    /// Ends an assignment at once.
    pub fn end_assignment(self, tenant: &str, assignment: &str) -> Answer<()> {
        let path = format!("/tenants/{tenant}/assignments/{assignment}");
        self.call(Call::new(Method::DELETE, path))
    }
}

fn path(tenant: &str, customer: &str) -> String {
    format!("/tenants/{tenant}/customers/{}", encode_component(customer))
}
