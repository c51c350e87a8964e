//! Ceilings that operators set for one tenant, or for all tenants without a value of their own.

use sqlx::query;
use weir_domain::ceilings::{Ceiling, CeilingValues};
use weir_domain::id::TenantId;

use crate::connection::PooledConnection;
use crate::convert::{signed, unsigned, uuid};
use crate::error::StoreError;

/// The values of a tenant and the defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TenantCeilings {
    /// The tenant's own values.
    pub own: CeilingValues,
    /// The installation's defaults.
    pub defaults: CeilingValues,
}

/// The statement of a tenant's values and the defaults. `$with` is the macro that makes it.
macro_rules! of_tenant_with {
    ($with:ident, $tenant_id:expr) => {
        $with!(
            r#"-- ceilings.of_tenant
            SELECT name AS "name!", value AS "value!", true AS "own!"
            FROM tenant_ceilings
            WHERE tenant_id = $1
            UNION ALL
            SELECT name, value, false
            FROM default_ceilings"#,
            $tenant_id,
        )
    };
}
pub(crate) use of_tenant_with;

/// The tables of ceilings.
#[derive(Debug)]
pub struct Ceilings<'t> {
    conn: &'t mut PooledConnection,
}

impl TenantCeilings {
    /// The values of these rows: name, value, and whether it is the tenant's own.
    pub(crate) fn of(rows: impl IntoIterator<Item = (String, i64, bool)>) -> Self {
        let mut ceilings = Self::default();
        for (name, value, own) in rows {
            let values = if own { &mut ceilings.own } else { &mut ceilings.defaults };
            put(values, &name, value);
        }
        ceilings
    }

    /// The effective value.
    pub fn get(&self, ceiling: Ceiling) -> u64 {
        self.own.effective(&self.defaults, ceiling)
    }
}

impl<'t> Ceilings<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Returns the values of a tenant and the defaults.
    pub async fn of_tenant(self, tenant_id: TenantId) -> Result<TenantCeilings, StoreError> {
        let rows = of_tenant_with!(query, uuid(tenant_id.to_u128())).fetch_all(self.conn).await?;
        Ok(TenantCeilings::of(rows.into_iter().map(|row| (row.name, row.value, row.own))))
    }

    /// Returns the defaults.
    pub async fn defaults(self) -> Result<CeilingValues, StoreError> {
        let rows = sqlx::query!(
            "-- ceilings.defaults
            SELECT name, value FROM default_ceilings"
        )
        .fetch_all(self.conn)
        .await?;
        let mut values = CeilingValues::default();
        for row in rows {
            put(&mut values, &row.name, row.value);
        }
        Ok(values)
    }

    /// Replaces all values of a tenant. Requires an operator's scope.
    pub async fn set_of_tenant(
        self,
        tenant_id: TenantId,
        values: &CeilingValues,
    ) -> Result<(), StoreError> {
        sqlx::query!(
            "-- ceilings.clear_tenant
            DELETE FROM tenant_ceilings WHERE tenant_id = $1",
            uuid(tenant_id.to_u128()),
        )
        .execute(&mut *self.conn)
        .await?;
        let (names, numbers) = columns(values);
        sqlx::query!(
            "-- ceilings.set_tenant
            INSERT INTO tenant_ceilings (tenant_id, name, value)
            SELECT $1, name, value
            FROM unnest($2::text[], $3::bigint[]) AS given (name, value)",
            uuid(tenant_id.to_u128()),
            &names,
            &numbers,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Replaces all defaults. Requires an operator's scope.
    pub async fn set_defaults(self, values: &CeilingValues) -> Result<(), StoreError> {
        sqlx::query!(
            "-- ceilings.clear_defaults
            DELETE FROM default_ceilings"
        )
        .execute(&mut *self.conn)
        .await?;
        let (names, numbers) = columns(values);
        sqlx::query!(
            "-- ceilings.set_defaults
            INSERT INTO default_ceilings (name, value)
            SELECT name, value
            FROM unnest($1::text[], $2::bigint[]) AS given (name, value)",
            &names,
            &numbers,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }
}

/// Ignores a name or a value that this release does not know.
fn put(values: &mut CeilingValues, name: &str, value: i64) {
    if let Some(ceiling) = Ceiling::from_name(name) {
        drop(values.set(ceiling, Some(unsigned(value))));
    }
}

fn columns(values: &CeilingValues) -> (Vec<String>, Vec<i64>) {
    values.iter().map(|(ceiling, value)| (ceiling.as_str().to_owned(), signed(value))).unzip()
}
