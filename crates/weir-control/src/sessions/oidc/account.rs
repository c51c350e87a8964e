//! The account of a person whom the provider has identified.

use axum::http::HeaderMap;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use weir_domain::email::EmailAddress;
use weir_domain::id::{AuditId, UserId};
use weir_http::problem::Problem;
use weir_oidc::Identity;
use weir_store::{Actor, NewAudit, NewIdentity, NewUser, Scope, Tx, UserRow};

use super::Failure;
use crate::actor::Origin;
use crate::error::ControlError;
use crate::passwords::Passwords;
use crate::refresh::RefreshToken;
use crate::state::{ControlState, Signup};
use crate::{invitations, sessions};

/// A person who returned from the provider.
pub(super) struct SignIn<'a> {
    pub(super) issuer: &'a str,
    pub(super) identity: Identity,
    pub(super) origin: &'a Origin,
    pub(super) headers: &'a HeaderMap,
}

/// The result of a sign-in.
pub(super) enum SignInOutcome {
    Refused(Failure),
    Session { token: RefreshToken, email: EmailAddress },
}

impl SignIn<'_> {
    /// Begins a session of the account of the identity, which is linked or created if necessary.
    pub(super) async fn finish(
        self,
        control: &ControlState,
    ) -> Result<SignInOutcome, ControlError> {
        let digest = self.digest();
        let mut tx = control.store.begin("identities.presented", Scope::Service).await?;
        tx.enter_identity(&digest).await?;
        if let Some(user_id) = tx.identities().presented(&digest).await? {
            tx.enter_user(user_id).await?;
            let user = tx.users().find(user_id).await?.ok_or_else(Problem::not_found)?;
            return self.begin(control, tx, user, "user.login").await;
        }
        drop(tx);
        let email = self.identity.verified_email.as_deref().map(EmailAddress::parse);
        let Some(Ok(email)) = email else { return Ok(SignInOutcome::Refused(Failure::Unverified)) };
        let scope = Scope::Login(email.as_str().to_owned());
        let mut tx = control.store.begin("identities.link", scope).await?;
        match tx.users().by_email(email.as_str()).await? {
            Some(user) => self.link(control, tx, user, digest).await,
            None => self.create(control, tx, &email, digest).await,
        }
    }

    /// Links the identity to the account of its address, unless the account has another identity at the provider: an address
    /// can get another owner, a subject cannot. Other people can have made the account and know its password, so the password,
    /// all sessions and the invitations of the account end here: from now on the provider proves who the person is, or a link
    /// that reaches the address.
    async fn link(
        self,
        control: &ControlState,
        mut tx: Tx,
        user: UserRow,
        digest: [u8; 32],
    ) -> Result<SignInOutcome, ControlError> {
        tx.enter_user(user.id).await?;
        if let Some(failure) = refusal(&mut tx, &user).await? {
            return Ok(SignInOutcome::Refused(failure));
        }
        if tx.identities().is_linked(user.id, self.issuer).await? {
            let account = user.id;
            tracing::warn!(%account, "the account with this verified address is linked to another identity");
            return Ok(SignInOutcome::Refused(Failure::Linked));
        }
        if !tx.identities().insert(&self.new_identity(control, user.id, digest)).await? {
            return Ok(SignInOutcome::Refused(Failure::Expired));
        }
        tx.users().set_password(user.id, Passwords::NONE).await?;
        tx.sessions().revoke_all(user.id, None, control.clock.now()).await?;
        let actor = Actor::Person { id: user.id, email: user.email.clone() };
        let like = sessions::own_audit(control, actor, self.origin, "user.identity_link");
        invitations::revoke_own::revoke_own(&mut tx, &like, || control.id(AuditId::new)).await?;
        self.begin(control, tx, user, "user.identity_link").await
    }

    /// Creates an account without a password and without a tenant, if sign-up is open or the address is invited.
    async fn create(
        self,
        control: &ControlState,
        mut tx: Tx,
        email: &EmailAddress,
        digest: [u8; 32],
    ) -> Result<SignInOutcome, ControlError> {
        let now = control.clock.now();
        if control.settings.signup == Signup::Closed
            && !tx.identities().is_invited(email.as_str(), now).await?
        {
            return Ok(SignInOutcome::Refused(Failure::NoAccount));
        }
        let user_id = control.id(UserId::new);
        tx.enter_user(user_id).await?;
        let name =
            self.identity.name.as_deref().filter(|name| weir_domain::names::title(name).is_ok());
        let local = || email.as_str().split('@').next().unwrap_or_default();
        let new = NewUser {
            id: user_id,
            email: email.as_str().to_owned(),
            name: name.unwrap_or_else(local).chars().take(100).collect(),
            password_hash: Passwords::NONE.to_owned(),
            now,
        };
        let user = tx.users().insert(&new).await?;
        if !tx.identities().insert(&self.new_identity(control, user_id, digest)).await? {
            return Ok(SignInOutcome::Refused(Failure::Expired));
        }
        self.begin(control, tx, user, "user.signup").await
    }

    /// Begins the session and commits.
    async fn begin(
        self,
        control: &ControlState,
        mut tx: Tx,
        user: UserRow,
        action: &str,
    ) -> Result<SignInOutcome, ControlError> {
        if let Some(failure) = refusal(&mut tx, &user).await? {
            return Ok(SignInOutcome::Refused(failure));
        }
        let email = EmailAddress::parse(&user.email).map_err(Problem::internal)?;
        let token =
            sessions::begin_session(control, &mut tx, user.id, self.headers, self.origin).await?;
        let actor = Actor::Person { id: user.id, email: user.email };
        let entry = NewAudit {
            after: Some(json!({ "issuer": self.issuer })),
            ..sessions::own_audit(control, actor, self.origin, action)
        };
        tx.audit().append(&entry);
        tx.commit().await?;
        Ok(SignInOutcome::Session { token, email })
    }

    fn new_identity(
        &self,
        control: &ControlState,
        user_id: UserId,
        digest: [u8; 32],
    ) -> NewIdentity {
        NewIdentity {
            digest,
            user_id,
            issuer: self.issuer.to_owned(),
            subject: self.identity.subject.clone(),
            now: control.clock.now(),
        }
    }

    fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(self.issuer.as_bytes());
        // No issuer contains a zero byte, so different pairs give different bytes.
        hasher.update([0]);
        hasher.update(self.identity.subject.as_bytes());
        hasher.finalize().into()
    }
}

/// The reason why nobody can sign in to the account in this way.
async fn refusal(tx: &mut Tx, user: &UserRow) -> Result<Option<Failure>, ControlError> {
    if user.disabled {
        return Ok(Some(Failure::Disabled));
    }
    let factor = tx.second_factors().find(user.id).await?;
    let required = factor.is_some_and(|factor| factor.confirmed_at.is_some());
    Ok(required.then_some(Failure::SecondFactor))
}
