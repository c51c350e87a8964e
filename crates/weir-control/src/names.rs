//! Checks texts that people type. The problems name the field.

use weir_domain::email::EmailAddress;
use weir_domain::names;
use weir_http::problem::Problem;
use weir_wire::bounds::FILTER_CHARS_MAX;

use crate::state::ControlState;

/// An e-mail address in its normal form.
pub(crate) fn email(text: &str) -> Result<EmailAddress, Problem> {
    EmailAddress::parse(text).map_err(|reason| Problem::invalid_field("email", reason))
}

/// Checks the name of a tenant, a key or a person.
pub(crate) fn name(field: &str, text: &str) -> Result<(), Problem> {
    names::title(text).map_err(|reason| Problem::invalid_field(field, reason))
}

/// Checks the namespace of a filter. An empty one stands for the namespaces without rules.
pub(crate) fn namespace_filter(namespace: Option<String>) -> Result<Option<String>, Problem> {
    match namespace.as_deref().filter(|name| !name.is_empty()).map(names::namespace) {
        Some(Err(reason)) => Err(Problem::invalid_field("namespace", reason)),
        _ => Ok(namespace),
    }
}

/// Checks that a region of a filter is registered. An empty one stands for gates without a region.
pub(crate) fn region_filter(
    control: &ControlState,
    region: Option<String>,
) -> Result<Option<String>, Problem> {
    let known = control.regions.names();
    match region {
        Some(name) if !name.is_empty() && !known.contains(&name) => {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let reason = format!("must be the name of a region; there are: {known}");
            Err(Problem::invalid_field("region", reason))
        }
        region => Ok(region),
    }
}

/// Checks the text of a filter. An empty one does not restrict the list.
pub(crate) fn text_filter(field: &str, text: Option<String>) -> Result<Option<String>, Problem> {
    if text.as_ref().is_some_and(|text| text.chars().count() > FILTER_CHARS_MAX) {
        let reason = format!("must be at most {FILTER_CHARS_MAX} characters");
        return Err(Problem::invalid_field(field, reason));
    }
    Ok(text.filter(|text| !text.is_empty()))
}
