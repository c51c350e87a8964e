//! The forms of what people type in, as problems of a field.

use weir_domain::names;
use weir_http::problem::Problem;

/// Checks an e-mail address as far as it can be checked without writing to it.
pub(crate) fn email(text: &str) -> Result<(), Problem> {
    names::email(text).map_err(|reason| Problem::invalid_field("email", reason))
}

/// Checks the name of a tenant, a key or a person.
pub(crate) fn name(field: &str, text: &str) -> Result<(), Problem> {
    names::title(text).map_err(|reason| Problem::invalid_field(field, reason))
}
