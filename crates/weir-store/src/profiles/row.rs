//! The columns of a profile.

/// A statement that returns profiles: `$head`, the columns, `$tail`.
macro_rules! query_profiles {
    ($($statement:tt)+) => {
        $crate::specs::query_specs!(
            (weir_domain::id::ProfileId, "profiles", "concat_ws(' ', name, spec)", "name"),
            |row| $crate::profiles::ProfileColumns { name: row.name },
            $($statement)+
        )
    };
}
pub(super) use query_profiles;
