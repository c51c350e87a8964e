//! The version of the rulebook, and the form of the changes that gates load. They share a file because a load is complete
//! only if every transaction that changes served content raises the version as its last statement.

use uuid::Uuid;
use weir_domain::id::{OverrideId, PlanId, ProfileId, RuleId, TenantId};
use weir_domain::time::Timestamp;

use crate::assignments::ServedAssignment;
use crate::connection::PooledConnection;
use crate::convert::{signed, unsigned, uuid};
use crate::error::StoreError;
use crate::keys::KeyRow;
use crate::message::{Answers, statement};
use crate::overrides::{self, OverrideRow, ServedOverride};
use crate::plans::ServedPlan;
use crate::profiles::ServedProfile;
use crate::rules::{self, RuleRow, Rules, ServedRule};

/// A version of the rulebook in one history of the database. After a restore, or a failover that lost commits, the same
/// number stands for other content and has another stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RulebookVersion {
    /// The sequential number.
    pub number: u64,
    /// A random number, drawn when the version was raised.
    pub stamp: u128,
}

/// The answer to a gate that asks for a newer version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RulebookPoll {
    /// The newest version.
    pub newest: RulebookVersion,
    /// Whether the version that the gate holds is in the recent history of this database.
    pub is_known: bool,
    /// The time of the answer by Postgres' clock.
    pub at: Timestamp,
}

/// Content that a gate loads: everything, or one part of the tenants.
#[derive(Debug, Clone, PartialEq)]
pub struct RulebookChanges {
    /// The version of the rulebook that this content leads to.
    pub version: RulebookVersion,
    /// Whether this is the whole rulebook rather than the changes since the gate's version.
    pub whole: bool,
    /// Whether rules are enforced, for all tenants.
    pub enforced: bool,
    /// The ceiling of checks per second of a tenant without a value of its own.
    pub checks_per_second: u64,
    /// The regions, in their JSON form.
    pub regions: Box<str>,
    /// The tenants that changed.
    pub tenants: Vec<TenantChanges>,
    /// The tenants that were deleted.
    pub deleted: Vec<TenantId>,
}

/// The changes of one tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct TenantChanges {
    /// The tenant.
    pub tenant_id: TenantId,
    /// Whether its keys are refused.
    pub suspended: bool,
    /// Whether gates record some of its checks for what-if runs.
    pub record_checks: bool,
    /// Whether its rules are enforced.
    pub enforced: bool,
    /// The tenant's own ceiling of checks per second.
    pub checks_per_second: Option<u64>,
    /// The version of the rulebook at which the tenant last changed.
    pub version: u64,
    /// The keys that were written. Revoked keys are included unless the whole rulebook is loaded.
    pub keys: Vec<KeyRow>,
    /// The rules that were written.
    pub rules: Vec<ServedRule>,
    /// The overrides that were written, including expired ones.
    pub overrides: Vec<ServedOverride>,
    /// The profiles that were written.
    pub profiles: Vec<ServedProfile>,
    /// All namespaces whose counters are spread, with the attributes.
    pub spread: Vec<(String, Vec<String>)>,
    /// The attribute that names its customers.
    pub customer_attribute: Option<String>,
    /// The JSON of the customers' own view of their usage, without the logo.
    pub customer_view: Option<Box<str>>,
    /// The plans that were written.
    pub plans: Vec<ServedPlan>,
    /// All assignments of the customers of whom one was written.
    pub assignments: Vec<ServedAssignment>,
    /// The ids that the tenant still has, if a rule, an override, a profile or a plan was removed.
    pub remaining: Option<RemainingIds>,
}

/// The ids of the rules, overrides, profiles and plans that a tenant still has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemainingIds {
    /// The ids of its rules, ascending.
    pub rules: Vec<RuleId>,
    /// The ids of its overrides, ascending.
    pub overrides: Vec<OverrideId>,
    /// The ids of its profiles, ascending.
    pub profiles: Vec<ProfileId>,
    /// The ids of its plans, ascending.
    pub plans: Vec<PlanId>,
}

/// Rules with their overrides, for the control plane.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleRows {
    /// Rules, oldest first.
    pub rules: Vec<RuleRow>,
    /// Their overrides, oldest first, including expired ones.
    pub overrides: Vec<OverrideRow>,
}

/// The table of versions, and one tenant's part of the rulebook.
#[derive(Debug)]
pub struct Rulebook<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Rulebook<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Returns the newest version.
    pub async fn version(self) -> Result<RulebookVersion, StoreError> {
        version(self.conn).await
    }

    /// Returns a rule with its overrides.
    pub async fn rule(
        self,
        tenant_id: TenantId,
        id: RuleId,
    ) -> Result<Option<(RuleRow, Vec<OverrideRow>)>, StoreError> {
        let Some(rule) = Rules::new(&mut *self.conn).find(tenant_id, id).await? else {
            return Ok(None);
        };
        Ok(Some((rule, overrides::of_rule(self.conn, tenant_id, id).await?)))
    }

    /// Returns the rules of a namespace with their overrides.
    pub async fn namespace(
        self,
        tenant_id: TenantId,
        namespace: &str,
    ) -> Result<RuleRows, StoreError> {
        let rules = rules::of_namespace(self.conn, tenant_id, namespace).await?;
        let overrides = overrides::of_namespace(self.conn, tenant_id, namespace).await?;
        Ok(RuleRows { rules, overrides })
    }
}

/// The statement of [`Tx::publish`].
pub(crate) fn publish_statement(tenant_id: TenantId, answer_key: Option<&str>) -> String {
    statement!(
        "-- rulebook.publish
        SELECT weir_publish($1, $2)",
        uuid(tenant_id.to_u128()),
        answer_key,
    )
}

/// The statement of [`Tx::publish_installation`].
pub(crate) fn publish_installation_statement() -> String {
    statement!(
        "-- rulebook.publish_installation
        SELECT weir_publish_installation()"
    )
}

/// The statement that returns whether this version is one of the newest 10,000 in the history of this database.
pub(crate) fn known_statement(held: RulebookVersion) -> String {
    statement!(
        "-- rulebook.is_known
        SELECT EXISTS (
            SELECT FROM rulebook_stamps s
            JOIN rulebook_versions v ON s.version <= v.version
            WHERE s.version = $1 AND s.stamp = $2
        )",
        signed(held.number),
        uuid(held.stamp),
    )
}

/// The statement of [`version_of`].
pub(crate) fn version_statement() -> String {
    statement!(
        "-- rulebook.newest_version
        SELECT
            version,
            stamp,
            pg_is_in_recovery(),
            (extract(epoch FROM clock_timestamp()) * 1000)::bigint
        FROM rulebook_versions"
    )
}

/// The version that a message returned, and the time by Postgres' clock.
pub(crate) fn version_of(
    answers: &mut Answers,
) -> Result<(RulebookVersion, Timestamp), StoreError> {
    let row = answers.row::<(i64, Uuid, bool, i64)>()?;
    let (version, stamp, in_recovery, ms) = row.ok_or_else(|| StoreError::corrupt("no version"))?;
    Ok((on_a_primary(version, stamp, in_recovery)?, Timestamp::from_millis(ms)))
}

pub(crate) async fn version(conn: &mut PooledConnection) -> Result<RulebookVersion, StoreError> {
    let row = sqlx::query!(
        r#"-- rulebook.version
        SELECT version, stamp, pg_is_in_recovery() AS "in_recovery!" FROM rulebook_versions"#
    )
    .fetch_one(conn)
    .await?;
    on_a_primary(row.version, row.stamp, row.in_recovery)
}

/// Fails on a replica: one that has stopped to replay looks like a primary on which nothing changes.
fn on_a_primary(
    version: i64,
    stamp: Uuid,
    in_recovery: bool,
) -> Result<RulebookVersion, StoreError> {
    if in_recovery {
        return Err(StoreError::Unavailable(REPLICA.into()));
    }
    Ok(RulebookVersion { number: unsigned(version), stamp: stamp.as_u128() })
}

/// The reason why the version of a replica is not used.
const REPLICA: &str =
    "this host of the database URL is a replica, whose rulebook can be old; name the primary";
