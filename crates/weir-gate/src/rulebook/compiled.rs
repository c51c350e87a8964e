//! Compiles the rows of one tenant.

use std::sync::Arc;

use weir_domain::id::TenantId;
use weir_domain::rule_parts::RuleParts;
use weir_domain::rulebook::TenantRules;
use weir_store::TenantChanges;
use weir_wire::stored::{LeftOut, StoredTenant};

use super::source;

/// One tenant's part of the rulebook.
#[derive(Debug)]
pub(crate) struct CompiledTenant {
    pub(crate) id: TenantId,
    pub(crate) rules: TenantRules,
    /// `None` if the compiled part contains everything.
    pub(crate) uncompiled: Option<Arc<Uncompiled>>,
}

/// The rows of a tenant that its compiled part does not contain.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Uncompiled {
    /// The overrides, profiles and plans, and the keys and rules that were left out.
    pub(crate) stored: StoredTenant,
    /// The items that were left out, with the reasons.
    pub(crate) left_out: Vec<LeftOut>,
}

impl CompiledTenant {
    /// Compiles all rows of a tenant. `None` if its id cannot be read.
    pub(crate) fn of_stored(stored: StoredTenant, parts: &RuleParts) -> Option<Self> {
        let id = stored.id.parse().ok()?;
        let all = stored.rules.iter().map(|rule| rule.id.clone()).collect();
        let (rules, left_out) = stored.compile_again(&TenantRules::default(), &all, parts);
        log(&stored.id, &left_out);
        Some(Self::new(id, rules, stored, left_out))
    }

    /// Compiles the changes of a tenant. Its rows before are those of `before` and `uncompiled`. Rows that cannot be read
    /// are left out and logged.
    pub(crate) fn after(
        before: &TenantRules,
        uncompiled: Option<&Uncompiled>,
        changes: TenantChanges,
        parts: &RuleParts,
    ) -> Self {
        let id = changes.tenant_id;
        let (mut stored, known) = match uncompiled {
            Some(uncompiled) => (uncompiled.stored.clone(), &uncompiled.left_out[..]),
            None => (StoredTenant::empty(id), &[][..]),
        };
        stored.restore_keys(before);
        let mut affected = source::apply(&mut stored, before, changes);
        // A rule that exceeded a budget can fit by now.
        affected.changed.extend(known.iter().filter_map(|left_out| left_out.rule_id.clone()));
        source::restore(&mut stored, before, &affected);
        let (rules, left_out) = stored.compile_again(before, &affected.changed, parts);
        let new = left_out.iter().filter(|new| !known.contains(new));
        log(&stored.id, new);
        Self::new(id, rules, stored, left_out)
    }

    fn new(
        id: TenantId,
        rules: TenantRules,
        mut stored: StoredTenant,
        left_out: Vec<LeftOut>,
    ) -> Self {
        stored.drop_compiled(&left_out);
        let contains_all = stored.overrides.is_empty()
            && stored.profiles.is_empty()
            && stored.plans.is_empty()
            && left_out.is_empty();
        let uncompiled = (!contains_all).then(|| Arc::new(Uncompiled { stored, left_out }));
        Self { id, rules, uncompiled }
    }
}

fn log<'a>(tenant: &str, left_out: impl IntoIterator<Item = &'a LeftOut>) {
    for left_out in left_out {
        tracing::error!(
            tenant.id = tenant,
            id = left_out.id,
            reason = left_out.reason,
            "left out of the rulebook"
        );
    }
}
