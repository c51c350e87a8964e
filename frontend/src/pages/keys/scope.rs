//! The names of scopes.

use weir_wire::api_keys::KeyScope;

/// The display name of a scope.
pub(super) const fn scope_name(scope: KeyScope) -> &'static str {
    match scope {
        KeyScope::Check => "check",
        KeyScope::Exhaust => "exhaust",
        KeyScope::View => "view",
        KeyScope::Read => "read",
        KeyScope::Audit => "audit",
        KeyScope::Write => "write",
        KeyScope::Admin => "admin",
    }
}
