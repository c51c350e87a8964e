//! The columns and statements that rules, profiles and overrides share: each is a body in the API's format, with the number of its
//! writes and the set of rules as code to which it belongs. The file of each kind has its own columns and lists.

mod statements;

use std::fmt::{Debug, Display};
use std::marker::PhantomData;
use std::ops::Deref;
use std::str::FromStr;

use serde_json::Value;
use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;

use crate::actor::Actor;
use crate::connection::PooledConnection;
use crate::error::StoreError;
use crate::page::{Listing, Page};
use crate::revisions::RevisionRow;

pub(crate) use statements::{query_specs, spec_statements};

/// A kind of object that an author writes as a whole: its types, and the statements of its table.
#[expect(async_fn_in_trait, reason = "only this crate has kinds, and their futures can be sent")]
pub trait Spec: Clone {
    /// The id of an object.
    type Id: Copy + Debug + Display + FromStr + PartialEq;
    /// The columns that other kinds do not have.
    type Columns: Debug + Clone + PartialEq;
    /// The fields that its author sets.
    type Body: Debug + Clone;

    /// Inserts an object with revision 1.
    async fn insert(
        conn: &mut PooledConnection,
        new: &SpecWrite<Self>,
    ) -> Result<SpecRow<Self>, StoreError>;

    /// Updates an object if it has this revision.
    async fn update(
        conn: &mut PooledConnection,
        write: &SpecWrite<Self>,
        revision: u64,
    ) -> Result<Option<SpecRow<Self>>, StoreError>;

    /// Returns an object.
    async fn find(
        conn: &mut PooledConnection,
        tenant_id: TenantId,
        id: Self::Id,
    ) -> Result<Option<SpecRow<Self>>, StoreError>;

    /// Deletes the object of a row if it still has the revision of that row. Returns whether it had.
    async fn delete(conn: &mut PooledConnection, row: &SpecRow<Self>) -> Result<bool, StoreError>;

    /// Adds a revision, which travels with the next statement. A kind without revisions adds none.
    fn add_revision(
        _conn: &mut PooledConnection,
        _before: Option<&Value>,
        _row: &SpecRow<Self>,
        _actor: &Actor,
    ) {
    }

    /// Deletes all but the newest `most` revisions of an object of the tenant in scope. Returns the number of deleted rows.
    async fn keep_revisions(
        _conn: &mut PooledConnection,
        _id: Self::Id,
        _most: u64,
    ) -> Result<u64, StoreError> {
        Ok(0)
    }
}

/// A kind whose revisions are stored.
#[expect(async_fn_in_trait, reason = "only this crate has kinds, and their futures can be sent")]
pub trait Revised: Spec {
    /// Lists the revisions of an object, newest first. The page starts before a revision.
    async fn revisions(
        conn: &mut PooledConnection,
        tenant_id: TenantId,
        id: Self::Id,
        page: &Page<u64>,
    ) -> Result<Listing<RevisionRow>, StoreError>;

    /// Returns one revision of an object.
    async fn revision(
        conn: &mut PooledConnection,
        tenant_id: TenantId,
        id: Self::Id,
        revision: u64,
    ) -> Result<Option<RevisionRow>, StoreError>;
}

/// A stored object. Its own columns are read as its fields.
#[derive(Debug, Clone, PartialEq)]
pub struct SpecRow<T: Spec> {
    /// The object's id.
    pub id: T::Id,
    /// The tenant that owns the object.
    pub tenant_id: TenantId,
    /// The body in the API's format.
    pub spec: Value,
    /// The columns that other kinds do not have.
    pub columns: T::Columns,
    /// The set of rules as code to which the object belongs.
    pub managed_by: Option<String>,
    /// Whether the object differs from what the last apply of its set wrote.
    pub edited: bool,
    /// The number of writes so far.
    pub revision: u64,
    /// The version of the rulebook from which gates serve the object; 0 inside the transaction that writes it.
    pub rulebook_version: u64,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last write.
    pub updated_at: Timestamp,
}

impl<T: Spec> Deref for SpecRow<T> {
    type Target = T::Columns;

    fn deref(&self) -> &T::Columns {
        &self.columns
    }
}

/// An object to be inserted or updated.
#[derive(Debug, Clone)]
pub struct SpecWrite<T: Spec> {
    /// The tenant that owns the object.
    pub tenant_id: TenantId,
    /// The object's id.
    pub id: T::Id,
    /// The new content.
    pub body: T::Body,
    /// The set of rules as code to which the object belongs from this write on. `None` leaves it where it is, and a new one
    /// in no set.
    pub managed_by: Option<String>,
    /// The current time.
    pub now: Timestamp,
}

/// The table of a kind.
#[derive(Debug)]
pub struct Specs<'t, T> {
    pub(crate) conn: &'t mut PooledConnection,
    kind: PhantomData<T>,
}

impl<'t, T: Spec> Specs<'t, T> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn, kind: PhantomData }
    }

    /// Inserts an object and its first revision.
    pub async fn insert(self, new: &SpecWrite<T>, actor: &Actor) -> Result<SpecRow<T>, StoreError> {
        let row = T::insert(self.conn, new).await?;
        T::add_revision(self.conn, None, &row, actor);
        Ok(row)
    }

    /// Updates an object if it still has the revision that the caller read, and adds a revision. `None` if it does not
    /// exist.
    pub async fn update(
        self,
        write: &SpecWrite<T>,
        expected_revision: u64,
        actor: &Actor,
    ) -> Result<Option<SpecRow<T>>, StoreError> {
        let Some(before) = T::find(self.conn, write.tenant_id, write.id).await? else {
            return Ok(None);
        };
        let written = T::update(self.conn, write, expected_revision).await?;
        let row = written.ok_or(StoreError::Stale)?;
        T::add_revision(self.conn, Some(&before.spec), &row, actor);
        Ok(Some(row))
    }

    /// Deletes an object, if it has the expected revision, with its revisions, and returns its last content.
    pub async fn delete(
        self,
        tenant_id: TenantId,
        id: T::Id,
        expected_revision: Option<u64>,
    ) -> Result<Option<SpecRow<T>>, StoreError> {
        let Some(row) = T::find(self.conn, tenant_id, id).await? else { return Ok(None) };
        if expected_revision.is_some_and(|expected| expected != row.revision)
            || !T::delete(self.conn, &row).await?
        {
            return Err(StoreError::Stale);
        }
        Ok(Some(row))
    }

    /// Returns the object with this id.
    pub async fn find(
        self,
        tenant_id: TenantId,
        id: T::Id,
    ) -> Result<Option<SpecRow<T>>, StoreError> {
        T::find(self.conn, tenant_id, id).await
    }

    /// Deletes all but the newest `most` revisions of an object of the tenant in scope. Returns the number of deleted rows.
    pub async fn keep_revisions(self, id: T::Id, most: u64) -> Result<u64, StoreError> {
        T::keep_revisions(self.conn, id, most).await
    }
}

impl<T: Revised> Specs<'_, T> {
    /// Lists the revisions of an object, newest first. The page starts before a revision.
    pub async fn revisions(
        self,
        tenant_id: TenantId,
        id: T::Id,
        page: &Page<u64>,
    ) -> Result<Listing<RevisionRow>, StoreError> {
        T::revisions(self.conn, tenant_id, id, page).await
    }

    /// Returns one revision of an object.
    pub async fn revision(
        self,
        tenant_id: TenantId,
        id: T::Id,
        revision: u64,
    ) -> Result<Option<RevisionRow>, StoreError> {
        T::revision(self.conn, tenant_id, id, revision).await
    }
}
