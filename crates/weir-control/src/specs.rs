//! The operations on rules, profiles and overrides, as far as they are the same: objects are found, written, deleted and reverted,
//! and the audit log records it.

use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use weir_domain::ceilings::Ceiling;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{Revised, Spec, SpecRow, SpecWrite, Tx};
use weir_wire::audit::{RevertBody, Revision};
use weir_wire::page::Page;

use crate::actor::Caller;
use crate::answers::{answer, to_value};
use crate::audit;
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::{Input, Once};
use crate::listing::{List, ListQuery};
use crate::state::ControlState;

/// A kind of object of the API.
pub(crate) trait Kind: Spec {
    /// The word for an object in the audit log and in texts.
    const WORD: &'static str;
    /// Makes an id.
    const ID: fn(Timestamp, u128) -> Self::Id;
    /// An object in JSON.
    type Answer: Serialize;

    /// Refuses an object of a namespace in which the caller has no rights.
    async fn admit(tx: &mut Tx, caller: &Caller, row: &SpecRow<Self>) -> Result<(), ControlError>;

    /// An object in JSON.
    fn answer(row: &SpecRow<Self>) -> Result<Self::Answer, Problem>;
}

/// A kind whose objects have a namespace and revisions.
pub(crate) trait Authored: Kind + Revised {
    /// A body in the API's format.
    type Wire: Serialize + DeserializeOwned;
    /// A body that was checked.
    type Checked;

    /// Checks a body. The problem names all errors in it.
    fn check(body: Self::Wire) -> Result<Self::Checked, Problem>;

    /// The namespace of a checked body.
    fn namespace(checked: &Self::Checked) -> &str;

    /// The columns of a new object. Refuses one that the tenant has no room for.
    async fn new_body(
        change: &mut Change,
        id: Self::Id,
        checked: &Self::Checked,
    ) -> Result<Self::Body, ControlError>;

    /// The columns of an object that replaces `before`. Refuses one that the tenant has no room for.
    async fn edited_body(
        change: &mut Change,
        before: &SpecRow<Self>,
        checked: &Self::Checked,
    ) -> Result<Self::Body, ControlError>;

    /// An object in JSON after an edit of `before`.
    fn edited_answer(
        _before: &SpecRow<Self>,
        row: &SpecRow<Self>,
    ) -> Result<Self::Answer, Problem> {
        Self::answer(row)
    }
}

/// Answers with one object.
pub(crate) async fn read<T: Kind>(
    control: &ControlState,
    name: &'static str,
    caller: &Caller,
    id: &str,
) -> Result<Response, ControlError> {
    let id = parsed(id)?;
    let mut tx = control.reading(name, caller).await?;
    let row = find::<T>(&mut tx, caller, id).await?;
    Ok(answer(StatusCode::OK, &to_value(&T::answer(&row)?)?))
}

/// Answers with the revisions of an object, newest first.
pub(crate) async fn revisions<T: Kind + Revised>(
    control: &ControlState,
    name: &'static str,
    caller: &Caller,
    id: &str,
    query: ListQuery,
) -> Result<Json<Page<Revision>>, ControlError> {
    let object_id = parsed(id)?;
    let list = List::new(&["revisions", id], query)?;
    let page = list.page(Some::<u64>)?;
    let mut tx = control.reading(name, caller).await?;
    find::<T>(&mut tx, caller, object_id).await?;
    let listing = tx.specs::<T>().revisions(caller.tenant_id, object_id, &page).await?;
    Ok(Json(list.answer(listing, |row| row.revision, audit::revision)))
}

/// Creates an object of a request.
pub(crate) async fn create<T: Authored>(
    control: &ControlState,
    name: &'static str,
    caller: Caller,
    input: Input<T::Wire>,
) -> Result<Response, ControlError> {
    let checked = T::check(input.body)?;
    caller.namespaces.admit(T::namespace(&checked))?;
    let mut change = control.change(name, caller, input.once).await?;
    let row = insert_checked::<T>(control, &mut change, &checked, None).await?;
    change.answer(StatusCode::CREATED, &T::answer(&row)?).await
}

/// Replaces an object, based on the revision of `If-Match`.
pub(crate) async fn update<T: Authored>(
    control: &ControlState,
    name: &'static str,
    caller: Caller,
    id: &str,
    if_match: IfMatch,
    input: Input<T::Wire>,
) -> Result<Response, ControlError> {
    let id = parsed(id)?;
    let checked = T::check(input.body)?;
    caller.namespaces.admit(T::namespace(&checked))?;
    let mut change = control.change(name, caller, input.once).await?;
    let before = find::<T>(&mut change.tx, &change.caller, id).await?;
    let expected = if_match.required()?;
    let body = T::edited_body(&mut change, &before, &checked).await?;
    let row = replace_stored(&mut change, "update", &before, body, expected, None).await?;
    change.answer(StatusCode::OK, &T::edited_answer(&before, &row)?).await
}

/// Restores an older revision of an object, as a new revision.
pub(crate) async fn revert<T: Authored>(
    control: &ControlState,
    name: &'static str,
    caller: Caller,
    id: &str,
    if_match: IfMatch,
    input: Input<RevertBody>,
) -> Result<Response, ControlError> {
    let id = parsed(id)?;
    let expected = if_match.optional()?;
    let mut change = control.change(name, caller, input.once).await?;
    let before = find::<T>(&mut change.tx, &change.caller, id).await?;
    let tenant_id = change.caller.tenant_id;
    let wanted = change.tx.specs::<T>().revision(tenant_id, id, input.body.revision).await?;
    let missing =
        || Problem::invalid_field("revision", format!("names no revision of this {}", T::WORD));
    let old = wanted.ok_or_else(missing)?.after;
    let checked = T::check(serde_json::from_value(old).map_err(Problem::internal)?)?;
    change.caller.namespaces.admit(T::namespace(&checked))?;
    let expected = expected.unwrap_or(before.revision);
    let body = T::edited_body(&mut change, &before, &checked).await?;
    let row = replace_stored(&mut change, "revert", &before, body, expected, None).await?;
    change.answer(StatusCode::OK, &T::edited_answer(&before, &row)?).await
}

/// Deletes an object.
pub(crate) async fn delete<T: Kind>(
    control: &ControlState,
    name: &'static str,
    caller: Caller,
    id: &str,
    if_match: IfMatch,
) -> Result<Response, ControlError> {
    let id = parsed(id)?;
    let expected = if_match.optional()?;
    let mut change = control.change(name, caller, Once::not_stored()).await?;
    find::<T>(&mut change.tx, &change.caller, id).await?;
    delete_stored::<T>(&mut change, id, expected).await?;
    change.done().await
}

/// Reads an id in a path. A text that is none names nothing.
pub(crate) fn parsed<I: std::str::FromStr>(text: &str) -> Result<I, Problem> {
    text.parse().map_err(|_| Problem::not_found())
}

/// Returns an object in whose namespace the caller has rights.
pub(crate) async fn find<T: Kind>(
    tx: &mut Tx,
    caller: &Caller,
    id: T::Id,
) -> Result<SpecRow<T>, ControlError> {
    let row = tx.specs::<T>().find(caller.tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    T::admit(tx, caller, &row).await?;
    Ok(row)
}

/// Inserts a checked object, which belongs to a set of rules as code if one is given, and records it in the audit log.
pub(crate) async fn insert_checked<T: Authored>(
    control: &ControlState,
    change: &mut Change,
    checked: &T::Checked,
    managed_by: Option<&str>,
) -> Result<SpecRow<T>, ControlError> {
    let id = control.id(T::ID);
    let body = T::new_body(change, id, checked).await?;
    insert_stored(change, id, body, managed_by).await
}

/// Inserts an object, which belongs to a set of rules as code if one is given, and records it in the audit log.
pub(crate) async fn insert_stored<T: Kind>(
    change: &mut Change,
    id: T::Id,
    body: T::Body,
    managed_by: Option<&str>,
) -> Result<SpecRow<T>, ControlError> {
    let write = write(change, id, body, managed_by);
    let row = change.tx.specs::<T>().insert(&write, &change.caller.actor).await?;
    record::<T>(change, "create", id, None, Some(row.spec.clone()));
    Ok(row)
}

/// Replaces `before`, if it still has the expected revision, and records it as this operation in the audit log. From then on, the
/// object belongs to the set of rules as code that is given, or stays where it is.
pub(crate) async fn replace_stored<T: Kind>(
    change: &mut Change,
    operation: &str,
    before: &SpecRow<T>,
    body: T::Body,
    expected_revision: u64,
    managed_by: Option<&str>,
) -> Result<SpecRow<T>, ControlError> {
    let write = write(change, before.id, body, managed_by);
    let actor = &change.caller.actor;
    let row = change.tx.specs::<T>().update(&write, expected_revision, actor).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    let most = change.ceilings.get(Ceiling::RevisionsPerRule);
    if row.revision > most {
        change.tx.specs::<T>().keep_revisions(row.id, most).await?;
    }
    let after = Some(row.spec.clone());
    record::<T>(change, operation, row.id, Some(before.spec.clone()), after);
    Ok(row)
}

/// Deletes an object, if it still has the expected revision, and records it in the audit log.
pub(crate) async fn delete_stored<T: Kind>(
    change: &mut Change,
    id: T::Id,
    expected_revision: Option<u64>,
) -> Result<(), ControlError> {
    let tenant_id = change.caller.tenant_id;
    let row = change.tx.specs::<T>().delete(tenant_id, id, expected_revision).await?;
    let before = row.ok_or_else(Problem::not_found)?.spec;
    record::<T>(change, "delete", id, Some(before), None);
    Ok(())
}

/// Appends an entry about an object to the audit log.
pub(crate) fn record<T: Kind>(
    change: &mut Change,
    operation: &str,
    id: T::Id,
    before: Option<Value>,
    after: Option<Value>,
) {
    let action = format!("{}.{operation}", T::WORD);
    change.audit(&action, Object::new(T::WORD, &id), before, after);
}

fn write<T: Spec>(
    change: &Change,
    id: T::Id,
    body: T::Body,
    managed_by: Option<&str>,
) -> SpecWrite<T> {
    SpecWrite {
        tenant_id: change.caller.tenant_id,
        id,
        body,
        managed_by: managed_by.map(str::to_owned),
        now: change.now,
    }
}
