//! Namespaces and their settings.

use weir_domain::names;
use weir_domain::rule::Rule;
use weir_domain::spread::SpreadBy;
use weir_http::problem::Problem;
use weir_store::NamespaceRow;
use weir_wire::namespaces::NamespaceAnswer;

pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod update;

/// Refuses a rule whose counters the namespace cannot place: it neither counts by the attributes of `spread_by` nor leases.
pub(crate) fn admit_rule(spread_by: &[String], rule: &Rule) -> Result<(), Problem> {
    SpreadBy::parse(spread_by.to_vec())
        .unwrap_or_default()
        .admit(rule.namespace(), rule)
        .map_err(|wrong| Problem::invalid_field(wrong.field, wrong.reason))
}

/// A namespace in JSON.
fn answer_of(row: NamespaceRow) -> NamespaceAnswer {
    let NamespaceRow { name, rules, spread_by, revision, rulebook_version } = row;
    NamespaceAnswer { name, rules, spread_by, revision, rulebook_version }
}

/// Checks the name in a path.
fn checked_name(name: &str) -> Result<(), Problem> {
    names::namespace(name).map_err(|_| Problem::not_found())
}
