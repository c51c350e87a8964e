//! One subject across all rules: its counters, and temporary overrides.

use gloo_net::http::Method;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::subjects::{
    BlockSubjectBody, InspectSubjectAnswer, InspectSubjectBody, RaiseSubjectBody,
};

use super::request::Call;
use super::{Api, Problem};

impl Api {
    /// The counters, overrides and denials of a subject in every rule that counts by its attributes.
    pub async fn inspect_subject(
        self,
        tenant: &str,
        body: &InspectSubjectBody,
    ) -> Result<InspectSubjectAnswer, Problem> {
        let path = format!("/tenants/{tenant}/subjects/inspect");
        self.call(Call::new(Method::POST, path).body(body)).await
    }

    /// Multiplies the limits of a subject for some time.
    pub async fn raise_subject(
        self,
        tenant: &str,
        body: &RaiseSubjectBody,
    ) -> Result<OverrideAnswer, Problem> {
        self.create(format!("/tenants/{tenant}/subjects/raise"), body).await
    }

    /// Denies a subject for some time.
    pub async fn block_subject(
        self,
        tenant: &str,
        body: &BlockSubjectBody,
    ) -> Result<OverrideAnswer, Problem> {
        self.create(format!("/tenants/{tenant}/subjects/block"), body).await
    }
}
