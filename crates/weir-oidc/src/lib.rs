//! Sign-in with an OpenID Connect provider that the operator names: authorization code flow with PKCE, state and nonce.
//!
//! [`Provider::authorization_url`] is the address at the provider to which a browser is sent with a [`Transaction`], and
//! [`Provider::identity`] exchanges the code with which the browser returns for an [`Identity`]. The provider's document and
//! keys are cached. Every request has a deadline, follows no redirect and reads a bounded answer.

mod error;
mod http_client;
mod provider;
mod transaction;

pub use error::OidcError;
pub use provider::{Identity, InvalidProvider, Provider, ProviderSettings};
pub use transaction::Transaction;
