//! The columns of a profile.

/// The columns that only profiles have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileColumns {
    /// The name, unique in the tenant.
    pub name: String,
}

/// A statement that returns profiles: `$head`, the columns, `$tail`.
macro_rules! query_profiles {
    ($($statement:tt)+) => {
        $crate::specs::query_specs!(
            (weir_domain::id::ProfileId, "profiles", "concat_ws(' ', name, spec)", "name"),
            |row| $crate::profiles::row::ProfileColumns { name: row.name },
            $($statement)+
        )
    };
}
pub(super) use query_profiles;
