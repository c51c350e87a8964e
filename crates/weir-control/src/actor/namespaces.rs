//! The namespaces in which a caller has its rights.

use weir_http::problem::Problem;

/// All namespaces of the tenant, or those to which a key is restricted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Namespaces(Option<Vec<String>>);

impl Namespaces {
    /// All namespaces.
    pub(super) const ALL: Self = Self(None);

    /// Those of a key: all, or these.
    pub(super) fn of_key(only: Option<Vec<String>>) -> Self {
        Self(only)
    }

    /// Whether the caller has no rights in some namespaces.
    pub(crate) fn are_restricted(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the caller has its rights in this namespace.
    pub(crate) fn contain(&self, namespace: &str) -> bool {
        self.0.as_ref().is_none_or(|only| only.iter().any(|name| name == namespace))
    }

    /// Refuses a namespace in which the caller has no rights.
    pub(crate) fn admit(&self, namespace: &str) -> Result<(), Problem> {
        match &self.0 {
            Some(only) if !self.contain(namespace) => {
                let only = listed(only);
                let detail = if namespace.is_empty() {
                    format!("this key is restricted to the namespaces {only}")
                } else {
                    format!(
                        "this key is restricted to the namespaces {only}; `{namespace}` is another"
                    )
                };
                Err(Problem::forbidden(detail))
            }
            _ => Ok(()),
        }
    }

    /// The namespaces to list: the requested one, else those of the caller; `None` lists all.
    pub(crate) fn filter(&self, requested: Option<String>) -> Result<Option<Vec<String>>, Problem> {
        let Some(namespace) = requested else { return Ok(self.0.clone()) };
        self.admit(&namespace)?;
        Ok(Some(vec![namespace]))
    }

    /// The namespaces to list; `None` lists all.
    pub(crate) fn only(&self) -> Option<&[String]> {
        self.0.as_deref()
    }

    /// Refuses an operation on the whole tenant, unless the caller has its rights in all namespaces.
    pub(super) fn admit_tenant(&self) -> Result<(), Problem> {
        self.0.as_ref().map_or(Ok(()), |only| {
            let only = listed(only);
            let detail = format!(
                "this key is restricted to the namespaces {only}, and this concerns the whole tenant"
            );
            Err(Problem::forbidden(detail))
        })
    }
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
