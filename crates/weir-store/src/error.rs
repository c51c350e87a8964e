//! Errors of the store, in three kinds: refused by the data, temporary, and bugs.

use std::error::Error;

use weir_domain::counter::Layout;

/// The reason why an operation of the store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A named constraint refused the write.
    #[error("refused by the data: {0:?}")]
    Conflict(Constraint),
    /// The row has another revision than the one that the caller read.
    #[error("changed by someone else meanwhile")]
    Stale,
    /// Postgres is unreachable or too slow. The operation can succeed later.
    #[error("database unavailable")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// The login has privileges that its plane does not need.
    #[error("the login {login} has too many rights: {reason}")]
    Unconfined {
        /// The login's name in Postgres.
        login: String,
        /// The excess privilege.
        reason: String,
    },
    /// The process counts in other keys of Redis than the installation.
    #[error(
        "this release counts in {} buckets (epoch {}), and the installation in {} (epoch {}), by `rulebook_versions` in \
         postgres: start a release with the same layout",
        own.buckets, own.epoch, stored.buckets, stored.epoch
    )]
    OtherLayout {
        /// The layout of the installation.
        stored: Layout,
        /// The layout of the process.
        own: Layout,
    },
    /// Postgres refuses the login, or has no such database: the address of the database is wrong. A retry fails as well.
    #[error(
        "postgres refuses the login: {what}; check the user, the password and the name in the database's URL"
    )]
    LoginRefused {
        /// The reason, as Postgres states it.
        what: String,
        /// The driver's error.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The schema lacks something that this release uses.
    #[error("the schema is older than this release: run weir migrate")]
    OlderSchema(#[source] Option<Box<dyn Error + Send + Sync>>),
    /// The database has migrations of the series that this release replaced.
    #[error(
        "the database has the migrations of before 27 November 2026, which one new series replaced: create a new database, or keep \
         the data as docs/operate/upgrade.md describes"
    )]
    FormerSchema,
    /// The database was restored on a server that did not have these roles.
    #[error(
        "the database was restored without its roles, and lacks {missing}: drop it, run weir migrate --roles-only, and restore it \
         again"
    )]
    RestoredWithoutRoles {
        /// The roles, or what follows from them.
        missing: String,
    },
    /// A bug or damaged data. A retry fails as well.
    #[error("database misused or damaged: {what}")]
    Corrupt {
        /// A description of the fault.
        what: String,
        /// The driver's error, if a statement failed.
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
    },
}

/// The meaning of a violated constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constraint {
    /// Another person has this e-mail address.
    UserEmail,
    /// The person is already a member.
    MemberTwice,
    /// The person does not exist.
    MemberUser,
    /// Another rule of the namespace has this name.
    RuleName,
    /// The rule already has an override for this subject.
    OverrideSubject,
    /// The rule does not exist in the tenant.
    OverrideRule,
    /// Another profile of the tenant has this name.
    ProfileName,
    /// Another plan of the tenant has this name.
    PlanName,
    /// Another profile of the tenant has this domain.
    ProfileDomain,
    /// The digest is in use, which means that the source of randomness is broken.
    KeyDigest,
    /// The digest is in use, which means that the source of randomness is broken.
    InvitationDigest,
    /// Another request invited the address at the same moment.
    InvitationTwice,
    /// The webhook does not exist in the tenant.
    AlertWebhook,
    /// The rule does not exist in the tenant.
    AlertRule,
    /// Another alert of the set has this name.
    AlertName,
    /// The tenant does not exist any more.
    TenantMissing,
}

impl StoreError {
    /// Creates an error for an impossible state that was detected without the driver.
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into(), source: None }
    }

    /// The error of a transaction that could not begin. Its statements name only one thing that can be missing: the role.
    pub(crate) fn of_begin(error: sqlx::Error) -> Self {
        let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
        if code.is_some_and(|code| code == INVALID_VALUE) {
            return Self::OlderSchema(Some(Box::new(error)));
        }
        error.into()
    }

    /// Whether Postgres is unreachable or too slow.
    pub(crate) fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }

    /// Whether the server cancelled a statement that took too long.
    pub(crate) fn is_cancelled(&self) -> bool {
        let Self::Unavailable(source) = self else { return false };
        let Some(error) = source.downcast_ref::<sqlx::Error>() else { return false };
        error
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code)
            .is_some_and(|code| code == CANCELLED)
    }

    /// Returns the chain of causes in one line, for a log that reports each reason once.
    pub fn reason(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let Some(database) = error.as_database_error() else {
            return without_database(error);
        };
        if let Some(constraint) = database.constraint().and_then(meaning) {
            return Self::Conflict(constraint);
        }
        if database.code().is_some_and(|code| is_passing(&code)) {
            return Self::Unavailable(Box::new(error));
        }
        if database.code().is_some_and(|code| is_about_login(&code)) {
            return Self::LoginRefused {
                what: database.message().to_owned(),
                source: Box::new(error),
            };
        }
        if database.code().is_some_and(|code| MISSING_IN_SCHEMA.contains(&&*code)) {
            return Self::OlderSchema(Some(Box::new(error)));
        }
        if database.code().is_some_and(|code| LOST_STATEMENT.contains(&&*code)) {
            return Self::Corrupt { what: POOLER.to_owned(), source: Some(Box::new(error)) };
        }
        Self::Corrupt { what: database.message().to_owned(), source: Some(Box::new(error)) }
    }
}

/// A statement was cancelled, after its timeout.
const CANCELLED: &str = "57014";
/// The value of a setting does not exist.
const INVALID_VALUE: &str = "22023";
/// A table, a column or a function does not exist.
const MISSING_IN_SCHEMA: [&str; 3] = ["42P01", "42703", "42883"];
/// A prepared statement does not exist, or exists already.
const LOST_STATEMENT: [&str; 2] = ["26000", "42P05"];
const POOLER: &str = "a pooler before postgres loses prepared statements: end the database URL with \
     `?statement-cache-capacity=0`, or let the pooler track them";

fn without_database(error: sqlx::Error) -> StoreError {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => StoreError::Unavailable(Box::new(error)),
        other => StoreError::Corrupt { what: other.to_string(), source: Some(Box::new(other)) },
    }
}

/// Whether the same statement can succeed later. Classes: connection exception, transaction rollback, insufficient
/// resources (a full disk), operator intervention (a statement timeout, a shutdown, a start), system error. Single codes:
/// lock not available, idle in transaction too long, read-only transaction (a standby, half way through a fail-over).
fn is_passing(code: &str) -> bool {
    ["08", "40", "53", "57", "58"].iter().any(|class| code.starts_with(class))
        || ["55P03", "25P03", "25006"].contains(&code)
}

/// Classes: invalid authorization, invalid catalogue name.
fn is_about_login(code: &str) -> bool {
    ["28", "3D"].iter().any(|class| code.starts_with(class))
}

fn meaning(name: &str) -> Option<Constraint> {
    Some(match name {
        "users_email_key" => Constraint::UserEmail,
        "memberships_tenant_id_user_id_pkey" => Constraint::MemberTwice,
        "memberships_user_id_fkey" => Constraint::MemberUser,
        "rules_tenant_id_namespace_name_key" => Constraint::RuleName,
        "overrides_tenant_id_rule_id_subject_digest_key" => Constraint::OverrideSubject,
        "overrides_tenant_id_rule_id_fkey" => Constraint::OverrideRule,
        "profiles_tenant_id_name_key" => Constraint::ProfileName,
        "plans_tenant_id_name_key" => Constraint::PlanName,
        "profiles_tenant_id_domain_idx" => Constraint::ProfileDomain,
        "api_keys_digest_key" => Constraint::KeyDigest,
        "invitations_digest_key" => Constraint::InvitationDigest,
        "invitations_tenant_id_email_key" => Constraint::InvitationTwice,
        "alerts_webhook_id_fkey" => Constraint::AlertWebhook,
        "alerts_rule_id_fkey" => Constraint::AlertRule,
        "alerts_tenant_id_managed_by_name_key" => Constraint::AlertName,
        "memberships_tenant_id_fkey"
        | "api_keys_tenant_id_fkey"
        | "invitations_tenant_id_fkey"
        | "webhooks_tenant_id_fkey"
        | "alerts_tenant_id_fkey"
        | "profiles_tenant_id_fkey"
        | "namespaces_tenant_id_fkey"
        | "rules_tenant_id_fkey" => Constraint::TenantMissing,
        _ => return None,
    })
}
