//! The audit log.

use weir_wire::audit::AuditEntry;
use weir_wire::page::Page;

use super::request::with_parameters;
use super::{Answer, Api};
use crate::model::audit::AuditLog;

impl Api {
    /// One page of an audit log, newest first, filtered by query parameters.
    pub fn audit(
        self,
        log: AuditLog,
        tenant: &str,
        filter: &[(&'static str, String)],
        cursor: Option<String>,
    ) -> Answer<Page<AuditEntry>> {
        let path = match log {
            AuditLog::Tenant => format!("/tenants/{tenant}/audit"),
            AuditLog::Mine => "/me/audit".to_owned(),
            AuditLog::Installation => "/operator/audit".to_owned(),
        };
        let limit = if cursor.is_some() { 200 } else { 50 };
        let cursor = cursor.map(|cursor| ("cursor", cursor));
        let parameters = filter.iter().chain(&cursor).map(|(name, value)| (*name, value.as_str()));
        self.read(with_parameters(format!("{path}?limit={limit}"), parameters))
    }
}
