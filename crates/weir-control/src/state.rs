//! What the handlers share: cheap to clone, passed as axum's state.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use weir_domain::time::{Clock, Timestamp};
use weir_redis::attempts::Budget;
use weir_redis::limiter::Limiter;
use weir_redis::signal::Signal;
use weir_store::{Retention, Store};
use weir_webhook::Sender;

use crate::actor::denied::Denials;
use crate::ceilings::admin_rate::AdminRates;
use crate::login_throttle::LoginThrottle;
use crate::login_throttle::windows::Windows;
use crate::macs::Macs;
use crate::meters::Meters;
use crate::passwords::Passwords;
use crate::sealing::Sealing;
use crate::simulate::room::RunLimiter;
use crate::stats::live::Live;
use crate::tokens::AccessTokens;

/// The control plane's handles.
#[derive(Debug, Clone)]
pub struct ControlState {
    parts: Arc<ControlParts>,
    meters: Arc<Meters>,
    /// Who watches what happens now.
    pub(crate) live: Arc<Live>,
    /// Requests a second of each tenant.
    pub(crate) admin_rates: Arc<AdminRates>,
    /// Limits what-if runs.
    pub(crate) simulations: RunLimiter,
    /// Denials of the last minute.
    pub(crate) denials: Arc<Denials>,
    /// Refused sign-ins that are being recorded.
    pub(crate) recordings: Arc<Semaphore>,
    /// Refused sign-ins of unknown accounts recorded in this minute.
    refusals: Arc<Mutex<Windows>>,
}

/// What [`ControlState`] is made of; filled in by the wiring.
#[derive(Debug)]
pub struct ControlParts {
    /// All SQL.
    pub store: Store,
    /// Announces to the gates that the rulebook changed.
    pub signal: Signal,
    /// Looks at counters for the tester, and forgets them.
    pub limiter: Limiter,
    /// What time it is.
    pub clock: Clock,
    /// Where ids and secrets come from.
    pub random: Random,
    /// Signs and verifies access tokens.
    pub tokens: AccessTokens,
    /// Hashes and verifies passwords.
    pub passwords: Passwords,
    /// Keeps secrets that must be read again.
    pub sealing: Sealing,
    /// Sends to tenants' webhooks.
    pub sender: Sender,
    /// Tags that prove that a text was written by this installation.
    pub macs: Macs,
    /// Bounds guesses of passwords.
    pub login_throttle: LoginThrottle,
    /// What may be set.
    pub settings: ControlSettings,
    /// Cancelled when the plane is to stop: streams end then.
    pub stop: CancellationToken,
}

/// What may be set about the control plane.
#[derive(Debug, Clone, Copy)]
pub struct ControlSettings {
    /// How accounts and tenants come into being.
    pub signup: Signup,
    /// A session ends when it was not refreshed for so long.
    pub session_idle_ms: i64,
    /// A session ends after so long in any case.
    pub session_absolute_ms: i64,
    /// How long the refresh token before the present one is still good, for tabs that refresh at once.
    pub refresh_grace_ms: u64,
    /// Most rules of a namespace.
    pub rules_per_namespace_max: u64,
    /// Most rules of a tenant.
    pub rules_per_tenant_max: u64,
    /// Most overrides of a tenant.
    pub overrides_per_tenant_max: u64,
    /// Most tenants of a person; operators may make more.
    pub tenants_per_person_max: u64,
    /// How long statistics are kept.
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

const RECORDINGS_MAX: usize = 64;
const UNKNOWN_PER_MINUTE_MAX: u32 = 60;

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
    /// From its parts.
    pub fn new(parts: ControlParts) -> Self {
        Self {
            parts: Arc::new(parts),
            meters: Arc::default(),
            live: Arc::default(),
            admin_rates: Arc::default(),
            simulations: RunLimiter::default(),
            denials: Arc::default(),
            recordings: Arc::new(Semaphore::new(RECORDINGS_MAX)),
            refusals: Arc::new(Mutex::new(Windows::new(1))),
        }
    }

    /// What Prometheus reads.
    pub(crate) fn meters(&self) -> &Meters {
        &self.meters
    }

    /// Whether one more refused sign-in of an unknown account can be recorded: sixty a minute are.
    pub(crate) fn may_record_unknown(&self) -> bool {
        let budget = Budget { name: [0; 16], attempts_max: UNKNOWN_PER_MINUTE_MAX };
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.admit(&[budget], self.clock.now(), 60_000).is_ok()
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
    /// From what fills a slice with randomness.
    pub fn new(fill: impl Fn(&mut [u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(fill))
    }

    /// So many random bytes.
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
