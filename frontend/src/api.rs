//! The typed client of the admin API: the only place that knows its addresses.
//!
//! Each method takes and returns the bodies of `weir-wire`, or the [`Problem`] that came instead. A token that is about to
//! end is renewed first; one that is refused is renewed once, and if that fails the session is over.

mod accounts;
mod alerts;
mod audit;
mod gate;
mod keys;
mod live;
mod members;
mod operator;
mod overrides;
mod problem;
mod request;
mod rules;
mod stats;
mod tenants;
mod what_if;

use std::cell::RefCell;

use futures_util::FutureExt as _;
use futures_util::future::{LocalBoxFuture, Shared};
use gloo_net::http::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weir_wire::problem::ErrorCode;
use weir_wire::sessions::LoggedIn;

use crate::browser;
use crate::session::{Session, Why};
pub use gate::gate_address;
pub use problem::Problem;
pub use request::why_not_fetched;
use request::{Call, decoded, send, sent};
pub use rules::Having;
pub use stats::About;

/// The client of whoever is signed in; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Api {
    session: Session,
}

impl Api {
    pub fn new(session: Session) -> Self {
        Self { session }
    }

    /// Tries the refresh cookie: gives a token, or ends the session.
    pub async fn refresh(self) -> Result<String, Problem> {
        let session = self.session;
        let running = REFRESH.with_borrow_mut(|running| {
            running.get_or_insert_with(|| renewed(session).boxed_local().shared()).clone()
        });
        let answer = running.await;
        REFRESH.with_borrow_mut(Option::take);
        answer
    }

    async fn call<T: DeserializeOwned>(self, call: Call) -> Result<T, Problem> {
        decoded(&self.fetch(call).await?)
    }

    /// The text of the answer; in a box, so that it is there once and not inside each caller.
    fn fetch(self, call: Call) -> LocalBoxFuture<'static, Result<String, Problem>> {
        let fetching = async move {
            let token = self.token().await?;
            match sent(&call, Some(&token)).await {
                Err(refused) if refused.code == Some(ErrorCode::Unauthenticated) => {
                    sent(&call, Some(&self.refresh().await?)).await
                }
                answer => answer,
            }
        };
        fetching.boxed_local()
    }

    /// A token that is good for a while.
    async fn token(self) -> Result<String, Problem> {
        match self.session.signed_in() {
            Some(signed_in) if signed_in.expires_at_ms > browser::now_ms() + EARLY_MS => {
                Ok(signed_in.token)
            }
            _ => self.refresh().await,
        }
    }

    async fn read<T: DeserializeOwned>(self, path: String) -> Result<T, Problem> {
        self.call(Call::new(Method::GET, path)).await
    }

    async fn create<T: DeserializeOwned>(
        self,
        path: String,
        body: &impl Serialize,
    ) -> Result<T, Problem> {
        self.call(Call::new(Method::POST, path).body(body)).await
    }
}

async fn renewed(session: Session) -> Result<String, Problem> {
    let call = Call::new(Method::POST, "/auth/refresh".to_owned());
    match send::<LoggedIn>(&call, None).await {
        Ok(LoggedIn { access_token, expires_in_s, user, .. }) => {
            session.begin(user, access_token.clone(), expires_in_s);
            Ok(access_token)
        }
        Err(problem) => {
            if matches!(problem.code, Some(ErrorCode::Unauthenticated | ErrorCode::Forbidden)) {
                session.end(Why::Expired);
            }
            Err(problem)
        }
    }
}

type Renewal = Shared<LocalBoxFuture<'static, Result<String, Problem>>>;

thread_local! {
    /// The refresh under way: calls that find their token spent at once share it.
    static REFRESH: RefCell<Option<Renewal>> = const { RefCell::new(None) };
}

/// A token is renewed so long before it ends.
const EARLY_MS: i64 = 20_000;
