//! The provider, its cached document, and the two halves of a sign-in.

use std::fmt;
use std::time::{Duration, Instant};

use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreGenderClaim, CoreIdToken, CoreProviderMetadata,
};
use openidconnect::{
    AccessToken, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken,
    EmptyAdditionalClaims, EndpointMaybeSet, EndpointNotSet, EndpointSet, IssuerUrl, Nonce,
    OAuth2TokenResponse as _, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope,
    SignatureVerificationError, SubjectIdentifier, TokenResponse as _, UserInfoClaims,
};
use reqwest::Client;
use tokio::sync::Mutex;

use crate::error::{OidcError, reason};
use crate::http_client;
use crate::transaction::Transaction;

/// The settings of a provider. `Debug` hides the secret.
#[derive(Clone)]
pub struct ProviderSettings {
    /// The address of the provider, as its document states it.
    pub issuer: String,
    /// The id of this installation at the provider.
    pub client_id: String,
    /// The secret for it; `None` for a public client.
    pub client_secret: Option<String>,
    /// The address to which the provider sends browsers back.
    pub redirect_url: String,
}

/// A provider.
pub struct Provider {
    issuer: IssuerUrl,
    client_id: ClientId,
    client_secret: Option<ClientSecret>,
    redirect_url: RedirectUrl,
    client: Client,
    /// Held while the document is read, so that concurrent sign-ins read it once.
    cached: Mutex<Option<Cached>>,
}

/// A client whose addresses are those of the provider's document.
type DiscoveredClient = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// The provider's document with its keys.
struct Cached {
    metadata: CoreProviderMetadata,
    read_at: Instant,
}

/// A person at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The id of the person, unique at the provider and never used for another person.
    pub subject: String,
    /// The e-mail address, if the provider has verified it.
    pub verified_email: Option<String>,
    /// The display name, if the provider states it.
    pub name: Option<String>,
}

/// The reason why the settings of a provider cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidProvider {
    /// The issuer is not an address.
    #[error("must be an address such as https://accounts.example.com")]
    Issuer,
    /// The redirect is not an address.
    #[error("the address of the dashboard cannot be used")]
    Redirect,
    /// The HTTP client cannot be prepared.
    #[error("needs TLS, which cannot be prepared: {0}")]
    Tls(reqwest::Error),
}

/// The time after which the document is read again.
const CACHED_FOR: Duration = Duration::from_mins(10);
/// The age from which a token with an unknown key makes the document be read again.
const KEYS_CACHED_FOR: Duration = Duration::from_secs(30);
/// The deadline of a whole exchange, which has up to four requests.
const EXCHANGE_DEADLINE: Duration = Duration::from_secs(10);
/// The most bytes of a subject (OpenID Connect Core, section 2).
const SUBJECT_BYTES_MAX: usize = 255;

impl Provider {
    /// A provider. Nothing is read from it before the first sign-in.
    pub fn new(settings: ProviderSettings) -> Result<Self, InvalidProvider> {
        let issuer = IssuerUrl::new(settings.issuer).map_err(|_| InvalidProvider::Issuer)?;
        let encrypted = match issuer.url().scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(InvalidProvider::Issuer),
        };
        let redirect_url = RedirectUrl::new(settings.redirect_url);
        Ok(Self {
            issuer,
            client_id: ClientId::new(settings.client_id),
            client_secret: settings.client_secret.map(ClientSecret::new),
            redirect_url: redirect_url.map_err(|_| InvalidProvider::Redirect)?,
            client: http_client::client(encrypted).map_err(InvalidProvider::Tls)?,
            cached: Mutex::new(None),
        })
    }

    /// The issuer, which names the provider in the database.
    pub fn issuer(&self) -> &str {
        self.issuer.as_str()
    }

    /// The address at the provider at which the person signs in.
    pub async fn authorization_url(&self, transaction: &Transaction) -> Result<String, OidcError> {
        let metadata = within_deadline(self.metadata(CACHED_FOR)).await?;
        let client = self.client(metadata);
        let Transaction { state, nonce, verifier } = transaction.clone();
        let verifier = PkceCodeVerifier::new(verifier);
        let (url, _, _) = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                || CsrfToken::new(state),
                || Nonce::new(nonce),
            )
            .add_scope(Scope::new("email".to_owned()))
            .add_scope(Scope::new("profile".to_owned()))
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .url();
        Ok(url.into())
    }

    /// Exchanges the code of a sign-in for the person. The caller has compared the state.
    pub async fn identity(
        &self,
        code: String,
        transaction: &Transaction,
    ) -> Result<Identity, OidcError> {
        within_deadline(self.exchange(code, transaction)).await
    }

    async fn exchange(
        &self,
        code: String,
        transaction: &Transaction,
    ) -> Result<Identity, OidcError> {
        let send = |request| http_client::send(self.client.clone(), request);
        let client = self.client(self.metadata(CACHED_FOR).await?);
        let request = client
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|error| OidcError::Discovery(reason(&error)))?
            .set_pkce_verifier(PkceCodeVerifier::new(transaction.verifier.clone()));
        let tokens = request.request_async(&send).await;
        let tokens = tokens.map_err(|error| OidcError::Exchange(reason(&error)))?;
        let id_token =
            tokens.id_token().ok_or_else(|| OidcError::Token("there is none".to_owned()))?;
        let nonce = Nonce::new(transaction.nonce.clone());
        let identity = match self.verified(id_token, &nonce, CACHED_FOR).await {
            // The provider has rotated its keys.
            Err(ClaimsVerificationError::SignatureVerification(
                SignatureVerificationError::NoMatchingKey,
            )) => self.verified(id_token, &nonce, KEYS_CACHED_FOR).await,
            verified => verified,
        };
        let identity = identity.map_err(|error| OidcError::Token(reason(&error)))?;
        accepted_subject(&identity.subject)
            .map_err(|reason| OidcError::Token(reason.to_owned()))?;
        if identity.verified_email.is_some() {
            return Ok(identity);
        }
        self.with_user_info(identity, tokens.access_token().clone()).await
    }

    /// The person of an ID token, after a check of its signature, issuer, audience, authorized party, expiry and nonce with keys that are not
    /// older than `age_max`.
    async fn verified(
        &self,
        id_token: &CoreIdToken,
        nonce: &Nonce,
        age_max: Duration,
    ) -> Result<Identity, ClaimsVerificationError> {
        let metadata = self.metadata(age_max).await;
        let metadata =
            metadata.map_err(|error| ClaimsVerificationError::Other(error.to_string()))?;
        let client = self.client(metadata);
        let claims = id_token.claims(&client.id_token_verifier(), nonce)?;
        // The library refuses further audiences, and ignores the party that asked for the token.
        if claims.authorized_party().is_some_and(|party| *party != self.client_id) {
            let reason = "it was issued to another client".to_owned();
            return Err(ClaimsVerificationError::InvalidAudience(reason));
        }
        let email = claims.email().filter(|_| claims.email_verified() == Some(true));
        let name = claims.name().and_then(|names| names.get(None));
        Ok(Identity {
            subject: claims.subject().to_string(),
            verified_email: email.map(|email| email.to_string()),
            name: name.map(|name| name.to_string()),
        })
    }

    /// Adds the claims that the provider states only at its endpoint for them, if it has one.
    async fn with_user_info(
        &self,
        identity: Identity,
        token: AccessToken,
    ) -> Result<Identity, OidcError> {
        let send = |request| http_client::send(self.client.clone(), request);
        let client = self.client(self.metadata(CACHED_FOR).await?);
        let subject = SubjectIdentifier::new(identity.subject.clone());
        // Without such an endpoint there are no further claims.
        let Ok(request) = client.user_info(token, Some(subject)) else { return Ok(identity) };
        let claims: UserInfoClaims<EmptyAdditionalClaims, CoreGenderClaim> = request
            .request_async(&send)
            .await
            .map_err(|error| OidcError::UserInfo(reason(&error)))?;
        let email = claims.email().filter(|_| claims.email_verified() == Some(true));
        let name = claims.name().and_then(|names| names.get(None)).map(|name| name.to_string());
        Ok(Identity {
            verified_email: email.map(|email| email.to_string()),
            name: identity.name.or(name),
            subject: identity.subject,
        })
    }

    fn client(&self, metadata: CoreProviderMetadata) -> DiscoveredClient {
        let secret = self.client_secret.clone();
        CoreClient::from_provider_metadata(metadata, self.client_id.clone(), secret)
            .set_redirect_uri(self.redirect_url.clone())
    }

    /// The provider's document with its keys, read again if it is older than `age_max`.
    async fn metadata(&self, age_max: Duration) -> Result<CoreProviderMetadata, OidcError> {
        let mut cached = self.cached.lock().await;
        if let Some(cached) = cached.as_ref().filter(|cached| cached.read_at.elapsed() < age_max) {
            return Ok(cached.metadata.clone());
        }
        let send = |request| http_client::send(self.client.clone(), request);
        let read = CoreProviderMetadata::discover_async(self.issuer.clone(), &send).await;
        let metadata = read.map_err(|error| OidcError::Discovery(reason(&error)))?;
        *cached = Some(Cached { metadata: metadata.clone(), read_at: Instant::now() });
        Ok(metadata)
    }
}

/// Checks that a subject can identify a person: the database stores it, and all tokens without one would be one person.
fn accepted_subject(subject: &str) -> Result<(), &'static str> {
    match subject {
        "" => Err("its subject is empty"),
        _ if subject.len() > SUBJECT_BYTES_MAX => Err("its subject is too long"),
        _ if subject.chars().any(char::is_control) => Err("its subject has control characters"),
        _ => Ok(()),
    }
}

async fn within_deadline<T>(
    work: impl Future<Output = Result<T, OidcError>>,
) -> Result<T, OidcError> {
    let done = tokio::time::timeout(EXCHANGE_DEADLINE, work).await;
    done.unwrap_or(Err(OidcError::TimedOut))
}

impl fmt::Debug for ProviderSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderSettings").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("issuer", &self.issuer.as_str()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
