//! The typed client of the admin API, and the only module that knows its paths.
//!
//! Methods take and return the bodies of `weir-wire`, or fail with a [`Problem`]. An access token is renewed shortly
//! before it expires; a token that the server rejects is renewed once, and if that fails the session ends.

mod accounts;
mod alerts;
mod audit;
mod connection;
mod customers;
mod gate;
mod keys;
mod live;
mod members;
mod operator;
mod overrides;
mod plans;
mod problem;
mod profiles;
mod request;
mod rules;
mod stats;
mod subjects;
mod tenants;
mod what_if;

use std::cell::RefCell;

use futures_util::future::Shared;
use futures_util::{FutureExt as _, TryFutureExt as _};
use gloo_net::http::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weir_wire::page::Page;
use weir_wire::problem::ErrorCode;
use weir_wire::sessions::LoggedIn;

use crate::browser;
use crate::session::{Session, SignOutReason};
pub use connection::Connection;
pub use customers::CustomerSearch;
pub use gate::{GateResponse, gate_address};
pub use overrides::OverrideSearch;
pub use problem::Problem;
pub use request::{Answer, load_failure};
use request::{Call, parsed, send, send_text};
pub use rules::{RuleFeature, RuleSelection};
pub use stats::StatsScope;

/// The API client for the current session; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Api {
    session: Session,
    connection: Connection,
}

impl Api {
    pub fn new(session: Session, connection: Connection) -> Self {
        Self { session, connection }
    }

    /// Exchanges the refresh cookie for an access token, or ends the session.
    pub async fn refresh(self) -> Result<String, Problem> {
        let session = self.session;
        let running = REFRESH.with_borrow_mut(|running| {
            running.get_or_insert_with(|| renewed(session).boxed_local().shared()).clone()
        });
        let answer = running.await;
        REFRESH.with_borrow_mut(Option::take);
        self.connection.record(&answer);
        answer
    }

    fn call<T: DeserializeOwned + 'static>(self, call: Call) -> Answer<T> {
        parsed(self.fetch(call))
    }

    /// The response body.
    fn fetch(self, call: Call) -> Answer<String> {
        let fetching = async move {
            let token = self.token().await?;
            let answer = match send_text(&call, Some(&token)).await {
                Err(rejected) if rejected.code == Some(ErrorCode::Unauthenticated) => {
                    send_text(&call, Some(&self.refresh().await?)).await
                }
                answer => answer,
            };
            self.connection.record(&answer);
            answer
        };
        fetching.boxed_local()
    }

    /// An access token that is valid for at least [`EARLY_MS`].
    async fn token(self) -> Result<String, Problem> {
        match self.session.signed_in() {
            Some(signed_in) if signed_in.expires_at_ms > browser::now_ms() + EARLY_MS => {
                Ok(signed_in.token)
            }
            _ => self.refresh().await,
        }
    }

    fn read<T: DeserializeOwned + 'static>(self, path: String) -> Answer<T> {
        self.call(Call::new(Method::GET, path))
    }

    /// The data of one page, where a tenant can have no more.
    fn list<T: DeserializeOwned + 'static>(self, path: String) -> Answer<Vec<T>> {
        self.read(path).map_ok(|page: Page<T>| page.data).boxed_local()
    }

    fn create<T: DeserializeOwned + 'static>(
        self,
        path: String,
        body: &impl Serialize,
    ) -> Answer<T> {
        self.call(Call::new(Method::POST, path).body(body))
    }
}

async fn renewed(session: Session) -> Result<String, Problem> {
    let call = Call::new(Method::POST, "/auth/refresh".to_owned());
    match send::<LoggedIn>(call).await {
        Ok(LoggedIn { access_token, expires_in_s, user, .. }) => {
            session.begin(user, access_token.clone(), expires_in_s);
            Ok(access_token)
        }
        Err(problem) => {
            if matches!(problem.code, Some(ErrorCode::Unauthenticated | ErrorCode::Forbidden)) {
                session.end(SignOutReason::Expired);
            }
            Err(problem)
        }
    }
}

type Renewal = Shared<Answer<String>>;

thread_local! {
    /// The refresh in flight, shared by all calls that need a new token at the same time.
    static REFRESH: RefCell<Option<Renewal>> = const { RefCell::new(None) };
}

/// How long before its expiry a token is renewed.
const EARLY_MS: i64 = 20_000;
