//! The accounts of the installation, as operators list them.

use weir_domain::id::UserId;
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};

/// An account without its credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRow {
    /// The person's id.
    pub id: UserId,
    /// The address in normal form.
    pub email: String,
    /// The display name.
    pub name: String,
    /// Whether the person is an operator of the installation.
    pub operator: bool,
    /// Whether the account is disabled.
    pub disabled: bool,
    /// Whether a code is required to sign in.
    pub second_factor: bool,
    /// The number of tenants that the person is a member of.
    pub tenants: u64,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of a recent request, if there was one.
    pub last_seen_at: Option<Timestamp>,
}

/// The list of accounts.
#[derive(Debug)]
pub struct Accounts<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Accounts<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Lists the accounts in the order of their creation, in the scope of an operator. `part` is a part of the address or the
    /// name, in any case.
    pub async fn list(
        self,
        part: Option<&str>,
        page: &Page<UserId>,
    ) -> Result<Listing<AccountRow>, StoreError> {
        let rows = sqlx::query!(
            r#"-- accounts.list
            SELECT
                id AS "id!",
                email AS "email!",
                name AS "name!",
                operator AS "operator!",
                disabled AS "disabled!",
                second_factor AS "second_factor!",
                tenants AS "tenants!",
                created_at AS "created_at!",
                last_seen_at
            FROM weir_list_accounts($1, $2, $3)"#,
            page.after.map(|id| uuid(id.to_u128())),
            part,
            i32::try_from(page.fetch()).unwrap_or(i32::MAX),
        )
        .fetch_all(self.conn)
        .await?;
        let account = rows.into_iter().map(|row| AccountRow {
            id: UserId::from_u128(row.id.as_u128()),
            email: row.email,
            name: row.name,
            operator: row.operator,
            disabled: row.disabled,
            second_factor: row.second_factor,
            tenants: unsigned(row.tenants),
            created_at: timestamp(row.created_at),
            last_seen_at: row.last_seen_at.map(timestamp),
        });
        Ok(page.listing(account.collect()))
    }
}
