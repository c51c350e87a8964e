//! The state that handlers and background tasks share, in named parts. Cheap to clone.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use weir_domain::time::{Clock, Timestamp};
use weir_redis::limiter::Limiter;
use weir_redis::signal::Signal;
use weir_store::{Retention, Store};
use weir_webhook::Sender;

use crate::actor::denials::Denials;
use crate::ceilings::admin_rate::AdminRates;
use crate::login_throttle::LoginThrottle;
use crate::login_throttle::refused_logins::RefusedLogins;
use crate::macs::Macs;
use crate::meters::Meters;
use crate::overrides::bulk_limiter::BulkLimiter;
use crate::passwords::Passwords;
use crate::sealing::Sealing;
use crate::simulate::room::RunLimiter;
use crate::stats::live::watchers::Live;
use crate::tokens::AccessTokens;

/// The control plane's handles.
#[derive(Debug, Clone)]
pub struct ControlState {
    parts: Arc<ControlParts>,
    /// The state of this process alone.
    pub(crate) local: Arc<LocalState>,
}

/// The parts of [`ControlState`] that the wiring supplies.
#[derive(Debug)]
pub struct ControlParts {
    /// All SQL.
    pub store: Store,
    /// Announces changes of the rulebook to the gates.
    pub signal: Signal,
    /// Inspects and resets counters.
    pub limiter: Limiter,
    /// The clock of every time stamp.
    pub clock: Clock,
    /// The source of ids and secrets.
    pub random: Random,
    /// Proves the identity of callers.
    pub auth: Authentication,
    /// Seals the secrets of webhooks, and sends to them.
    pub webhooks: WebhookParts,
    /// Settings.
    pub settings: ControlSettings,
    /// Cancelled when the plane is to stop: streams end then.
    pub stop: CancellationToken,
}

/// The parts that sign people in.
#[derive(Debug)]
pub struct Authentication {
    /// Signs and verifies access tokens.
    pub tokens: AccessTokens,
    /// Hashes and verifies passwords.
    pub passwords: Passwords,
    /// Tags that prove that a text was written by this installation.
    pub macs: Macs,
    /// Bounds guesses of passwords.
    pub login_throttle: LoginThrottle,
}

/// The parts that send webhooks.
#[derive(Debug)]
pub struct WebhookParts {
    /// Encrypts the secrets that sign messages.
    pub sealing: Sealing,
    /// Sends messages to the addresses of tenants.
    pub sender: Sender,
}

/// Counts and bounds of this process alone; other control planes have their own.
#[derive(Debug, Default)]
pub(crate) struct LocalState {
    pub(crate) meters: Meters,
    /// Streams of live statistics.
    pub(crate) live: Arc<Live>,
    /// Requests a second of each tenant.
    pub(crate) admin_rates: AdminRates,
    /// Bounds what-if runs.
    pub(crate) simulations: RunLimiter,
    /// Bounds bulk writes of overrides.
    pub(crate) bulk_writes: BulkLimiter,
    /// Denials of the last minute.
    pub(crate) denials: Denials,
    /// Bounds the records of refused sign-ins.
    pub(crate) refused_logins: RefusedLogins,
}

/// Settings of the control plane.
#[derive(Debug, Clone, Copy)]
pub struct ControlSettings {
    /// How accounts and tenants come into being.
    pub signup: Signup,
    /// The time after its last refresh at which a session ends, in milliseconds.
    pub session_idle_ms: i64,
    /// The time after its start at which a session ends in any case, in milliseconds.
    pub session_absolute_ms: i64,
    /// The time for which the previous refresh token still works, for tabs that refresh at once.
    pub refresh_grace_ms: u64,
    /// Rules that a namespace can have.
    pub rules_per_namespace_max: u64,
    /// Rules that a tenant can have.
    pub rules_per_tenant_max: u64,
    /// Overrides that a tenant can have.
    pub overrides_per_tenant_max: u64,
    /// Tenants that a person can belong to; operators can make more.
    pub tenants_per_person_max: u64,
    /// The time for which statistics are retained.
    pub retention: Retention,
    /// Days for which audit entries are retained.
    pub audit_days: u16,
}

/// Default retention of audit entries: three years.
pub const AUDIT_DAYS: u16 = 1095;

/// How accounts and tenants come into being, apart from invitations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signup {
    /// Accounts are made by `weir user create`, tenants by operators.
    Closed,
    /// Anybody can ask for an account. It is made when the token is presented that `weir user confirm` issues for the
    /// address. Nothing in an answer depends on whether the address has an account.
    Confirmed,
    /// Anybody can make an account at once. The answer tells whether the address had one before.
    Open,
}

/// A source of randomness fit for secrets.
#[derive(Clone)]
pub struct Random(Arc<Fill>);

type Fill = dyn Fn(&mut [u8]) + Send + Sync;

impl Default for ControlSettings {
    fn default() -> Self {
        const DAY_MS: i64 = 24 * 60 * 60 * 1000;
        Self {
            signup: Signup::Closed,
            session_idle_ms: 7 * DAY_MS,
            session_absolute_ms: 30 * DAY_MS,
            refresh_grace_ms: 10_000,
            rules_per_namespace_max: 1000,
            rules_per_tenant_max: 10_000,
            overrides_per_tenant_max: 100_000,
            tenants_per_person_max: 100,
            retention: Retention::default(),
            audit_days: AUDIT_DAYS,
        }
    }
}

impl ControlState {
    /// Builds the state from its parts.
    pub fn new(parts: ControlParts) -> Self {
        Self { parts: Arc::new(parts), local: Arc::default() }
    }

    /// The metrics of this process.
    pub(crate) fn meters(&self) -> &Meters {
        &self.local.meters
    }

    /// A new id of any kind: `state.id(RuleId::new)`.
    pub(crate) fn id<T>(&self, make: fn(Timestamp, u128) -> T) -> T {
        make(self.clock.now(), u128::from_le_bytes(self.random.bytes()))
    }
}

impl Deref for ControlState {
    type Target = ControlParts;

    fn deref(&self) -> &ControlParts {
        &self.parts
    }
}

impl Random {
    /// A source that fills slices with `fill`.
    pub fn new(fill: impl Fn(&mut [u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(fill))
    }

    /// `N` random bytes.
    pub(crate) fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        (self.0)(&mut bytes);
        bytes
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Random")
    }
}
