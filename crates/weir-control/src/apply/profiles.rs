//! The wanted profiles of a set: the checks that need no stored profile, and their part of the plan.

use weir_domain::profile::PROFILES_PER_TENANT_MAX;
use weir_http::problem::Problem;
use weir_store::{Page, ProfileRow, ProfileSpec};
use weir_wire::apply::{APPLY_PROFILES_MAX, ApplyAnswer, ApplyBody, ObjectKind, ObjectName};
use weir_wire::profiles::ProfileBody;

use crate::answers::to_value;
use crate::apply::comparison::refuse_wrong;
use crate::apply::plan::{Planned, below, wrong_names};
use crate::change::Change;
use crate::error::ControlError;
use crate::profiles::{namespace, warnings};
use crate::specs::delete_stored;

/// Checks the profiles of a request. The problems name the invalid fields.
pub(super) fn checked(body: &ApplyBody) -> Result<(), Problem> {
    refuse_wrong("profiles", body.profiles.len(), APPLY_PROFILES_MAX, || {
        let bodies = body.profiles.iter().map(|wanted| &wanted.profile);
        let names: Vec<_> = bodies.clone().map(|profile| profile.name.as_str()).collect();
        let fields = bodies.map(|profile| profile.clone().parse().err().unwrap_or_default());
        let mut wrong = below::<ProfileSpec>(fields);
        wrong.extend(wrong_names::<ProfileSpec>(body, &names));
        wrong
    })
}

impl Planned for ProfileSpec {
    async fn stored(
        change: &mut Change,
        _: &[ProfileBody],
        _: &str,
    ) -> Result<Vec<ProfileRow>, ControlError> {
        let most = u32::try_from(PROFILES_PER_TENANT_MAX).unwrap_or(u32::MAX);
        let page = Page { limit: most, after: None };
        Ok(change.tx.profiles().list(change.caller.tenant_id, None, &page).await?.items)
    }

    fn named(row: &ProfileRow) -> ObjectName {
        object(namespace(row), &row.name)
    }

    fn wanted(checked: &ProfileBody) -> ObjectName {
        object(&checked.namespace, &checked.name)
    }

    /// The name is unique in the tenant.
    fn key(_: &str, name: &str) -> (String, String) {
        (String::new(), name.to_owned())
    }

    fn former(body: &ApplyBody, at: usize) -> Option<&str> {
        body.profiles[at].renamed_from.as_deref()
    }

    fn body(checked: &ProfileBody) -> &ProfileBody {
        checked
    }

    fn is_same(row: &ProfileRow, checked: &ProfileBody) -> Result<bool, Problem> {
        Ok(row.spec == to_value(checked)?)
    }

    fn warnings(checked: &ProfileBody) -> Vec<String> {
        warnings(checked)
    }

    async fn delete_rows(
        change: &mut Change,
        rows: Vec<ProfileRow>,
        answer: &mut ApplyAnswer,
    ) -> Result<(), ControlError> {
        for row in rows {
            delete_stored::<Self>(change, row.id, Some(row.revision)).await?;
            answer.deleted.push(Self::named(&row));
        }
        Ok(())
    }
}

fn object(namespace: &str, name: &str) -> ObjectName {
    ObjectName { kind: ObjectKind::Profile, namespace: namespace.to_owned(), name: name.to_owned() }
}
