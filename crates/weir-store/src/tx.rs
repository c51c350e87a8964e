//! Transactions and their scopes, which row-level security enforces.

use std::time::Duration;

use uuid::Uuid;
use weir_domain::id::{GateId, SessionId, TenantId, UserId};

use crate::accounts::Accounts;
use crate::alerts::Alerts;
use crate::assignments::Assignments;
use crate::audit::{Audit, NewAudit};
use crate::audit_lines;
use crate::ceilings::Ceilings;
use crate::connection::{PooledConnection, State};
use crate::convert::{unsigned, uuid};
use crate::customer_days::CustomerDays;
use crate::deliveries::Deliveries;
use crate::denials::Denials;
use crate::error::StoreError;
use crate::events::Events;
use crate::gates::Gates;
use crate::housekeeping::Housekeeping;
use crate::idempotency::Idempotency;
use crate::identities::Identities;
use crate::installation::Installation;
use crate::invitations::Invitations;
use crate::keys::Keys;
use crate::members::Members;
use crate::message::{Answers, statement};
use crate::namespaces::Namespaces;
use crate::overrides::Overrides;
use crate::password_resets::PasswordResets;
use crate::plans::Plans;
use crate::profiles::Profiles;
use crate::quota_periods::QuotaPeriods;
use crate::rulebook::{self, Rulebook};
use crate::rules::Rules;
use crate::samples::Samples;
use crate::search::Search;
use crate::second_factors::SecondFactors;
use crate::sessions::Sessions;
use crate::signups::Signups;
use crate::specs::{Spec, Specs};
use crate::sweep::Sweep;
use crate::tallies::Tallies;
use crate::tenants::Tenants;
use crate::top_subjects::TopSubjects;
use crate::usage::Usage;
use crate::users::Users;
use crate::views::Views;
use crate::webhooks::Webhooks;

/// The rows that a transaction can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All rows of one tenant.
    Tenant(TenantId),
    /// One person's account, sessions, memberships and tenants. An operator sees all tenants.
    User(UserId),
    /// The account with this e-mail address in normal form, to check a password.
    Login(String),
    /// The session with this id, to rotate its refresh token.
    Session(SessionId),
    /// The API key with this digest.
    Key([u8; 32]),
    /// The invitation with this digest, and the name of its tenant.
    Invitation([u8; 32]),
    /// A gate's own heartbeat.
    Gate(GateId),
    /// No rows of any tenant.
    Service,
}

/// A transaction. It is rolled back if it is dropped without `commit`.
#[derive(Debug)]
pub struct Tx {
    inner: PooledConnection,
    /// The audit entries that were appended, for the log of the process.
    appended: Vec<NewAudit>,
}

impl Tx {
    /// A transaction that was opened with its [`scope`].
    pub(crate) fn new(inner: PooledConnection) -> Self {
        Self { inner, appended: Vec::new() }
    }

    /// Commits the transaction.
    pub async fn commit(self) -> Result<(), StoreError> {
        self.inner.commit().await?;
        self.appended.iter().for_each(audit_lines::log);
        Ok(())
    }

    /// Raises the version of the rulebook if this transaction changed content of the tenant that gates serve, commits, and returns
    /// the new version. The response stored under `answer_key` gets the version as its `rulebook_version`.
    ///
    /// The row that all tenants share is locked until the commit. A transaction that only commits publishes too.
    pub async fn publish(
        self,
        tenant_id: TenantId,
        answer_key: Option<&str>,
    ) -> Result<Option<u64>, StoreError> {
        self.commit_with(rulebook::publish_statement(tenant_id, answer_key)).await
    }

    /// Raises the version if this transaction changed a setting of all tenants, commits, and returns the new version.
    pub async fn publish_installation(self) -> Result<Option<u64>, StoreError> {
        self.commit_with(rulebook::publish_installation_statement()).await
    }

    /// Runs the last statement and commits, in one message. Returns the number that the statement returns.
    async fn commit_with(mut self, last: String) -> Result<Option<u64>, StoreError> {
        let answers = self.inner.send(format!("{last}; COMMIT"), State::Clean).await?;
        self.appended.iter().for_each(audit_lines::log);
        let number: Option<i64> = Answers::of_last(2, answers).value()?;
        Ok(number.map(unsigned))
    }

    /// Adds a tenant to the scope. Call it once a membership or a key is proven, or to create the tenant.
    pub async fn enter_tenant(&mut self, tenant_id: TenantId) -> Result<(), StoreError> {
        sqlx::query!(
            "-- tx.enter_tenant
            SELECT set_config('weir.tenant', $1, true)",
            text(tenant_id.to_u128()),
        )
        .fetch_one(&mut self.inner)
        .await?;
        Ok(())
    }

    /// Adds an invitation to the scope, by the digest of the presented token.
    pub async fn enter_invitation(&mut self, digest: &[u8; 32]) -> Result<(), StoreError> {
        sqlx::query!(
            "-- tx.enter_invitation
            SELECT set_config('weir.invitation', $1, true)",
            hex::encode(digest),
        )
        .fetch_one(&mut self.inner)
        .await?;
        Ok(())
    }

    /// Adds a pending sign-up to the scope, by the digest of the presented token.
    pub async fn enter_signup(&mut self, digest: &[u8; 32]) -> Result<(), StoreError> {
        sqlx::query!(
            "-- tx.enter_signup
            SELECT set_config('weir.signup', $1, true)",
            hex::encode(digest),
        )
        .fetch_one(&mut self.inner)
        .await?;
        Ok(())
    }

    /// Adds a password reset to the scope, by the digest of the presented token.
    pub async fn enter_password_reset(&mut self, digest: &[u8; 32]) -> Result<(), StoreError> {
        sqlx::query!(
            "-- tx.enter_password_reset
            SELECT set_config('weir.password_reset', $1, true)",
            hex::encode(digest),
        )
        .fetch_one(&mut self.inner)
        .await?;
        Ok(())
    }

    /// Adds an identity to the scope, by its digest. Call it once the provider has confirmed the identity.
    pub async fn enter_identity(&mut self, digest: &[u8; 32]) -> Result<(), StoreError> {
        sqlx::query!(
            "-- tx.enter_identity
            SELECT set_config('weir.identity', $1, true)",
            hex::encode(digest),
        )
        .fetch_one(&mut self.inner)
        .await?;
        Ok(())
    }

    /// Adds a person to the scope. Call it once a password or a refresh token is proven.
    pub async fn enter_user(&mut self, user_id: UserId) -> Result<(), StoreError> {
        sqlx::query!(
            "-- tx.enter_user
            SELECT set_config('weir.user', $1, true)",
            text(user_id.to_u128()),
        )
        .fetch_one(&mut self.inner)
        .await?;
        Ok(())
    }

    /// People's accounts.
    pub fn users(&mut self) -> Users<'_> {
        Users::new(&mut self.inner)
    }

    /// The accounts of the installation, for operators.
    pub fn accounts(&mut self) -> Accounts<'_> {
        Accounts::new(&mut self.inner)
    }

    /// People's sessions.
    pub fn sessions(&mut self) -> Sessions<'_> {
        Sessions::new(&mut self.inner)
    }

    /// People's second factors.
    pub fn second_factors(&mut self) -> SecondFactors<'_> {
        SecondFactors::new(&mut self.inner)
    }

    /// People's identities at the OpenID Connect provider.
    pub fn identities(&mut self) -> Identities<'_> {
        Identities::new(&mut self.inner)
    }

    /// Tokens for new passwords.
    pub fn password_resets(&mut self) -> PasswordResets<'_> {
        PasswordResets::new(&mut self.inner)
    }

    /// Sign-ups that wait for confirmation.
    pub fn signups(&mut self) -> Signups<'_> {
        Signups::new(&mut self.inner)
    }

    /// Tenants.
    pub fn tenants(&mut self) -> Tenants<'_> {
        Tenants::new(&mut self.inner)
    }

    /// Members of tenants.
    pub fn members(&mut self) -> Members<'_> {
        Members::new(&mut self.inner)
    }

    /// Invitations to join a tenant.
    pub fn invitations(&mut self) -> Invitations<'_> {
        Invitations::new(&mut self.inner)
    }

    /// Expired rows of all tenants.
    pub fn sweep(&mut self) -> Sweep<'_> {
        Sweep::new(&mut self.inner)
    }

    /// API keys.
    pub fn keys(&mut self) -> Keys<'_> {
        Keys::new(&mut self.inner)
    }

    /// The objects of a kind.
    pub fn specs<T: Spec>(&mut self) -> Specs<'_, T> {
        Specs::new(&mut self.inner)
    }

    /// Rules and their revisions.
    pub fn rules(&mut self) -> Rules<'_> {
        Rules::new(&mut self.inner)
    }

    /// Overrides of rules for single subjects.
    pub fn overrides(&mut self) -> Overrides<'_> {
        Overrides::new(&mut self.inner)
    }

    /// The views of lists that members share.
    pub fn views(&mut self) -> Views<'_> {
        Views::new(&mut self.inner)
    }

    /// Namespaces and their settings.
    pub fn namespaces(&mut self) -> Namespaces<'_> {
        Namespaces::new(&mut self.inner)
    }

    /// Profiles, by which proxies ask.
    pub fn profiles(&mut self) -> Profiles<'_> {
        Profiles::new(&mut self.inner)
    }

    /// Plans, on which customers are.
    pub fn plans(&mut self) -> Plans<'_> {
        Plans::new(&mut self.inner)
    }

    /// Assignments of customers to plans.
    pub fn assignments(&mut self) -> Assignments<'_> {
        Assignments::new(&mut self.inner)
    }

    /// Counts of customers by day.
    pub fn customer_days(&mut self) -> CustomerDays<'_> {
        CustomerDays::new(&mut self.inner)
    }

    /// Ceilings of tenants.
    pub fn ceilings(&mut self) -> Ceilings<'_> {
        Ceilings::new(&mut self.inner)
    }

    /// Settings of all tenants.
    pub fn installation(&mut self) -> Installation<'_> {
        Installation::new(&mut self.inner)
    }

    /// The rulebook's version and one tenant's part of the rulebook.
    pub fn rulebook(&mut self) -> Rulebook<'_> {
        Rulebook::new(&mut self.inner)
    }

    /// Heartbeats of gates.
    pub fn gates(&mut self) -> Gates<'_> {
        Gates::new(&mut self.inner)
    }

    /// The audit log.
    pub fn audit(&mut self) -> Audit<'_> {
        Audit::new(&mut self.inner, &mut self.appended)
    }

    /// Counts of decisions.
    pub fn tallies(&mut self) -> Tallies<'_> {
        Tallies::new(&mut self.inner)
    }

    /// The busiest subjects.
    pub fn top_subjects(&mut self) -> TopSubjects<'_> {
        TopSubjects::new(&mut self.inner)
    }

    /// Finding objects by their names.
    pub fn search(&mut self) -> Search<'_> {
        Search::new(&mut self.inner)
    }

    /// Events that explain the statistics of a tenant.
    pub fn events(&mut self) -> Events<'_> {
        Events::new(&mut self.inner)
    }

    /// The log of denied checks.
    pub fn denials(&mut self) -> Denials<'_> {
        Denials::new(&mut self.inner)
    }

    /// Checks recorded for what-if runs.
    pub fn samples(&mut self) -> Samples<'_> {
        Samples::new(&mut self.inner)
    }

    /// Webhooks.
    pub fn webhooks(&mut self) -> Webhooks<'_> {
        Webhooks::new(&mut self.inner)
    }

    /// Deliveries to webhooks.
    pub fn deliveries(&mut self) -> Deliveries<'_> {
        Deliveries::new(&mut self.inner)
    }

    /// Alerts.
    pub fn alerts(&mut self) -> Alerts<'_> {
        Alerts::new(&mut self.inner)
    }

    /// The usage of tenants by day.
    pub fn usage(&mut self) -> Usage<'_> {
        Usage::new(&mut self.inner)
    }

    /// The used units of quotas by subject and period.
    pub fn quota_periods(&mut self) -> QuotaPeriods<'_> {
        QuotaPeriods::new(&mut self.inner)
    }

    /// Roll-up and retention of statistics.
    pub fn housekeeping(&mut self) -> Housekeeping<'_> {
        Housekeeping::new(&mut self.inner)
    }

    /// Stored responses for repeated requests.
    pub fn idempotency(&mut self) -> Idempotency<'_> {
        Idempotency::new(&mut self.inner)
    }

    pub(crate) fn connection(&mut self) -> &mut PooledConnection {
        &mut self.inner
    }
}

/// The statement that gives a transaction its name and its scope. The server cancels a statement after `statement_timeout`.
pub(crate) fn scope(name: &str, scope: &Scope, statement_timeout: Duration) -> String {
    let settings = Settings::of(scope);
    let statement_timeout = statement_timeout.as_millis().to_string();
    statement!(
        "-- tx.begin
        SELECT
            set_config('application_name', $1, true) AS name,
            set_config('weir.tenant', $2, true) AS tenant,
            set_config('weir.user', $3, true) AS person,
            set_config('weir.login', $4, true) AS login,
            set_config('weir.session', $5, true) AS session,
            set_config('weir.key', $6, true) AS key,
            set_config('weir.gate', $7, true) AS gate,
            set_config('weir.invitation', $8, true) AS invitation,
            set_config('statement_timeout', $9, true) AS statement_timeout",
        name,
        settings.tenant,
        settings.user,
        settings.login,
        settings.session,
        settings.key,
        settings.gate,
        settings.invitation,
        statement_timeout,
    )
}

/// The settings that the policies read. An empty one matches no row.
#[derive(Default)]
struct Settings {
    tenant: String,
    user: String,
    login: String,
    session: String,
    key: String,
    gate: String,
    invitation: String,
}

impl Settings {
    fn of(scope: &Scope) -> Self {
        let mut settings = Self::default();
        match scope {
            Scope::Tenant(id) => settings.tenant = text(id.to_u128()),
            Scope::User(id) => settings.user = text(id.to_u128()),
            Scope::Login(email) => settings.login.clone_from(email),
            Scope::Session(id) => settings.session = text(id.to_u128()),
            Scope::Key(digest) => settings.key = hex::encode(digest),
            Scope::Invitation(digest) => settings.invitation = hex::encode(digest),
            Scope::Gate(id) => settings.gate = text(id.to_u128()),
            Scope::Service => {}
        }
        settings
    }
}

fn text(id: u128) -> String {
    let id: Uuid = uuid(id);
    id.to_string()
}
