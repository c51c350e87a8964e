//! Who is signed in: the access token lives in this tab's memory only, the refresh token in a cookie that scripts cannot read.

use leptos::prelude::*;
use weir_wire::sessions::User;

use crate::browser;

/// Whether somebody is signed in; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Session {
    state: RwSignal<SessionState>,
    /// Secrets of keys made since the page was opened, for the check page; never stored.
    secrets: RwSignal<Vec<KnownSecret>>,
}

/// Whether somebody is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionState {
    /// The cookie has not been tried yet.
    Unknown,
    /// Nobody.
    SignedOut(Why),
    /// Somebody.
    SignedIn(SignedIn),
}

/// Why nobody is signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// This browser never was.
    New,
    /// The session came to its end.
    Expired,
    /// The person signed out.
    Left,
}

/// Who, and until when the token is good.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedIn {
    pub user: User,
    pub token: String,
    pub expires_at_ms: i64,
}

/// A key whose secret is known because it was made here.
#[derive(Clone, PartialEq, Eq)]
pub struct KnownSecret {
    pub tenant_id: String,
    pub key_id: String,
    pub secret: String,
}

impl Session {
    /// Nothing is known yet, unless this browser never signed in: then asking would only fail.
    pub fn new() -> Self {
        let state = if browser::stored(MARK).is_some() {
            SessionState::Unknown
        } else {
            SessionState::SignedOut(Why::New)
        };
        Self { state: RwSignal::new(state), secrets: RwSignal::new(Vec::new()) }
    }

    pub fn state(self) -> SessionState {
        self.state.get()
    }

    /// Whether the cookie is still to be tried; not tracked.
    pub fn is_unknown(self) -> bool {
        self.state.with_untracked(|state| *state == SessionState::Unknown)
    }

    /// Who is signed in; not tracked.
    pub fn signed_in(self) -> Option<SignedIn> {
        match self.state.get_untracked() {
            SessionState::SignedIn(signed_in) => Some(signed_in),
            SessionState::Unknown | SessionState::SignedOut(_) => None,
        }
    }

    /// Somebody signed in, or their token was renewed.
    pub fn begin(self, user: User, token: String, expires_in_s: u64) {
        browser::store(MARK, "1");
        let lasts_ms = i64::try_from(expires_in_s.saturating_mul(1000)).unwrap_or(i64::MAX);
        self.state.set(SessionState::SignedIn(SignedIn {
            user,
            token,
            expires_at_ms: browser::now_ms().saturating_add(lasts_ms),
        }));
    }

    /// Nobody is signed in any more.
    pub fn end(self, why: Why) {
        browser::forget(MARK);
        self.secrets.set(Vec::new());
        self.state.set(SessionState::SignedOut(why));
    }

    /// Remembers the secret of a key that was just made.
    pub fn remember(self, secret: KnownSecret) {
        self.secrets.update(|secrets| secrets.push(secret));
    }

    /// Forgets the secret of a key that is no more.
    pub fn forget(self, key_id: &str) {
        self.secrets.update(|secrets| secrets.retain(|known| known.key_id != key_id));
    }

    /// The newest secret known for a tenant; not tracked.
    pub fn secret(self, tenant_id: &str) -> Option<String> {
        let newest = |secrets: &Vec<KnownSecret>| {
            let mut known = secrets.iter().rev();
            known.find(|known| known.tenant_id == tenant_id).map(|known| known.secret.clone())
        };
        self.secrets.with_untracked(newest)
    }
}

impl std::fmt::Debug for SignedIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignedIn").field("user", &self.user.id).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for KnownSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KnownSecret").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

/// Says that a refresh cookie may be there, so a first visit asks nothing.
const MARK: &str = "weir.signed-in";
