//! Limits attempts with passwords, sign-ups and tokens.
//!
//! An attempt charges budgets and is refunded when it was right, so only wrong attempts count. It is charged before the
//! password is verified, so a burst cannot overtake its own failures. The budgets are in Redis, shared by all control planes;
//! this process always counts too, so the limits hold while Redis is unavailable.
//!
//! A client with the cookie of a familiar device (`device`), or from a network with a session of the account, charges a
//! budget of its own, so attempts of strangers can never refuse a right password there.

use std::net::IpAddr;
use std::sync::Mutex;

use tokio::sync::{Semaphore, SemaphorePermit};
use weir_domain::email::EmailAddress;
use weir_domain::id::{TenantId, UserId};
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_redis::Client;
use weir_redis::attempts::{Attempts, Budget};
use weir_wire::problem::ErrorCode;

use crate::macs::Macs;
use crate::network;
use windows::Windows;

pub(crate) mod device;
pub(crate) mod refused_logins;
pub(crate) mod windows;

/// Charges attempts to budgets.
#[derive(Debug)]
pub struct LoginThrottle {
    shared: Attempts,
    local: Mutex<Windows>,
    macs: Macs,
    /// Permits for queries of familiar networks.
    lookups: Semaphore,
}

/// The budgets that one attempt charges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    budgets: Vec<(String, u32)>,
    window_ms: i64,
}

/// The window of a budget, in milliseconds.
const WINDOW_MS: i64 = 60_000;
/// The window of the budget of wrong codes of an account. Of a million codes, three are right at a time.
const CODES_WINDOW_MS: i64 = 60 * 60_000;
/// The most wrong attempts per minute on an account, from a network or by a device.
const ATTEMPTS_MAX: u32 = 10;
/// The most wrong attempts per minute from the block around a network.
const BLOCK_ATTEMPTS_MAX: u32 = 100;
/// The most unknown tokens per minute from a network.
const TOKENS_MAX: u32 = 60;
/// The window of the budgets of e-mail.
const MAILS_WINDOW_MS: i64 = 60 * 60_000;
/// The most messages of a kind per hour to an address.
const MAILS_MAX: u32 = 5;
/// The most invitations per hour that a tenant sends by e-mail.
const INVITATION_MAILS_MAX: u32 = 100;
/// The most budgets in the memory of this process.
const LOCAL_ENTRIES_MAX: usize = 20_000;
const LOOKUPS_MAX: usize = 8;

impl Attempt {
    fn within_a_minute(budgets: Vec<(String, u32)>) -> Self {
        Self { budgets, window_ms: WINDOW_MS }
    }

    /// An attempt with a code of the second factor of an account, by a client that knows the password.
    pub(crate) fn second_factor(user_id: UserId) -> Self {
        let budgets = vec![(format!("second factor {user_id}"), ATTEMPTS_MAX)];
        Self { budgets, window_ms: CODES_WINDOW_MS }
    }

    /// An attempt of an unknown client on an account and from a network.
    pub(crate) fn stranger(email: Option<&EmailAddress>, peer: Option<IpAddr>) -> Self {
        let mut budgets = from(peer);
        budgets.extend(email.map(|email| (format!("account {email}"), ATTEMPTS_MAX)));
        Self::within_a_minute(budgets)
    }

    /// A request for a sign-up that needs confirmation. No budget depends on the address.
    pub(crate) fn sign_up(peer: Option<IpAddr>) -> Self {
        Self::about("sign-up", peer)
    }

    /// A request for a password reset by e-mail. No budget depends on the address.
    pub(crate) fn reset_request(peer: Option<IpAddr>) -> Self {
        Self::about("password reset", peer)
    }

    /// A step of a sign-in at the OpenID Connect provider.
    pub(crate) fn at_provider(peer: Option<IpAddr>) -> Self {
        let network = peer.map(network::of).unwrap_or_default();
        Self::within_a_minute(vec![(format!("provider {network}"), TOKENS_MAX)])
    }

    /// The return of a browser from the provider, by the state of its sign-in. Each state is accepted once.
    pub(crate) fn callback(state: &str, window_s: u32) -> Self {
        Self {
            budgets: vec![(format!("callback {state}"), 1)],
            window_ms: i64::from(window_s) * 1000,
        }
    }

    /// An e-mail with a password reset.
    pub(crate) fn reset_mail(email: &EmailAddress) -> Self {
        let budgets = vec![(format!("reset mail to {email}"), MAILS_MAX)];
        Self { budgets, window_ms: MAILS_WINDOW_MS }
    }

    /// An e-mail about a sign-up. It spends no budget of password resets, so no stranger can prevent them.
    pub(crate) fn signup_mail(email: &EmailAddress) -> Self {
        let budgets = vec![(format!("sign-up mail to {email}"), MAILS_MAX)];
        Self { budgets, window_ms: MAILS_WINDOW_MS }
    }

    /// An e-mail with an invitation. It spends no budget of password resets, so no inviter can prevent them.
    pub(crate) fn invitation_mail(tenant_id: TenantId, email: &EmailAddress) -> Self {
        let budgets = vec![
            (format!("invitation mail to {email}"), MAILS_MAX),
            (format!("invitation mail of {tenant_id}"), INVITATION_MAILS_MAX),
        ];
        Self { budgets, window_ms: MAILS_WINDOW_MS }
    }

    /// An attempt of one kind, from a network.
    fn about(kind: &str, peer: Option<IpAddr>) -> Self {
        let budgets = from(peer).into_iter();
        Self::within_a_minute(budgets.map(|(name, max)| (format!("{kind} {name}"), max)).collect())
    }

    /// An attempt from a network from which the account was used.
    pub(crate) fn familiar(email: &EmailAddress, network: &str) -> Self {
        Self::within_a_minute(vec![(format!("familiar {network} {email}"), ATTEMPTS_MAX)])
    }

    /// An attempt with the cookie of a device.
    pub(crate) fn of_device(device: &str) -> Self {
        Self::within_a_minute(vec![(format!("device {device}"), ATTEMPTS_MAX)])
    }

    /// An attempt of a signed-in person with the present password.
    pub(crate) fn of_person(user_id: UserId) -> Self {
        Self::within_a_minute(vec![(format!("person {user_id}"), ATTEMPTS_MAX)])
    }

    /// An attempt of an unknown client with a token.
    pub(crate) fn token(peer: Option<IpAddr>) -> Self {
        let network = peer.map(network::of).unwrap_or_default();
        Self::within_a_minute(vec![(format!("token {network}"), TOKENS_MAX)])
    }
}

impl LoginThrottle {
    /// A throttle with budgets in Redis, under names that reveal no account or address.
    pub fn new(client: Client, macs: Macs) -> Self {
        Self {
            shared: Attempts::new(client),
            local: Mutex::new(Windows::new(LOCAL_ENTRIES_MAX)),
            macs,
            lookups: Semaphore::new(LOOKUPS_MAX),
        }
    }

    /// Charges an attempt, or returns the seconds to wait.
    pub(crate) async fn admit(&self, attempt: &Attempt, now: Timestamp) -> Result<(), u32> {
        let budgets = self.budgets(attempt);
        let locally = self.local().admit(&budgets, now, attempt.window_ms);
        let answer = match self.shared.admit(&budgets, now, attempt.window_ms).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::debug!(%error, "Redis is unavailable: counting login attempts in this process");
                locally
            }
        };
        answer.map_err(|wait_ms| u32::try_from((wait_ms + 999) / 1000).unwrap_or(1).max(1))
    }

    /// Refunds the charge of an attempt that was right or was never made.
    pub(crate) async fn refund(&self, attempt: &Attempt) {
        let budgets = self.budgets(attempt);
        self.local().refund(&budgets);
        if let Err(error) = self.shared.refund(&budgets).await {
            tracing::debug!(%error, "Redis is unavailable: refunded a login attempt in this process");
        }
    }

    /// A permit to query whether a network is familiar; `None` while too many are in use.
    pub(crate) fn lookup(&self) -> Option<SemaphorePermit<'_>> {
        self.lookups.try_acquire().ok()
    }

    fn budgets(&self, attempt: &Attempt) -> Vec<Budget> {
        let budget = |(text, attempts_max): &(String, u32)| Budget {
            name: self.macs.digest("budget", text),
            attempts_max: *attempts_max,
        };
        attempt.budgets.iter().map(budget).collect()
    }

    fn local(&self) -> std::sync::MutexGuard<'_, Windows> {
        self.local.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The budgets of a network and of the block around it. The block prevents an owner of many networks from adding up their
/// budgets.
fn from(peer: Option<IpAddr>) -> Vec<(String, u32)> {
    let Some(peer) = peer else { return Vec::new() };
    vec![
        (format!("network {}", network::of(peer)), ATTEMPTS_MAX),
        (format!("block {}", network::block_of(peer)), BLOCK_ATTEMPTS_MAX),
    ]
}

/// The problem of an attempt beyond its budget.
pub(crate) fn too_many_attempts(wait_s: u32) -> Problem {
    let detail = format!("too many attempts; try again in {wait_s} s");
    Problem::new(ErrorCode::TooManyRequests, detail).retry_after_s(wait_s)
}
