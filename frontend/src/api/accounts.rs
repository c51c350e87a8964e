//! Sign-in, sign-up, sign-out and the signed-in person's account.

use gloo_net::http::Method;
use weir_wire::page::Page;
use weir_wire::second_factors::{
    BeginSecondFactor, NewSecondFactor, PresentCode, RecoveryCodes, RemoveSecondFactor,
    RequestReset, ResetPassword, SecondFactor,
};
use weir_wire::sessions::{
    ChangePassword, ConfirmSignUp, LogIn, LoggedIn, Me, PendingSignUp, Session, SignInOptions,
    SignUp, SignedUp, UpdateMe, User,
};

use super::request::{Call, send};
use super::{Api, Problem};
use crate::session::SignOutReason;

impl Api {
    /// The options of this installation for people without an account.
    pub async fn sign_in_options(self) -> Result<SignInOptions, Problem> {
        send(&Call::new(Method::GET, "/auth/options".to_owned()), None).await
    }

    pub async fn sign_in(self, body: &LogIn) -> Result<(), Problem> {
        let call = Call::new(Method::POST, "/auth/login".to_owned()).body(body);
        let LoggedIn { user, access_token, expires_in_s, .. } = send(&call, None).await?;
        self.session.begin(user, access_token, expires_in_s);
        Ok(())
    }

    /// Creates an account and its first tenant. Returns the tenant's id.
    pub async fn sign_up(self, body: &SignUp) -> Result<String, Problem> {
        self.begin_with(Call::new(Method::POST, "/auth/signup".to_owned()).body(body)).await
    }

    /// Asks for an account where sign-ups are confirmed.
    pub async fn request_sign_up(self, body: &SignUp) -> Result<PendingSignUp, Problem> {
        send(&Call::new(Method::POST, "/auth/signup".to_owned()).body(body), None).await
    }

    /// Finishes a sign-up, and returns the id of the new tenant.
    pub async fn confirm_sign_up(self, body: &ConfirmSignUp) -> Result<String, Problem> {
        self.begin_with(Call::new(Method::POST, "/auth/signup/confirm".to_owned()).body(body)).await
    }

    /// Begins the session of a new account, and returns the id of its tenant.
    async fn begin_with(self, call: Call) -> Result<String, Problem> {
        let SignedUp { user, tenant, access_token, expires_in_s, .. } = send(&call, None).await?;
        self.session.begin(user, access_token, expires_in_s);
        Ok(tenant.id)
    }

    /// Ends the local session even if the server cannot be reached.
    pub async fn sign_out(self) {
        let call = Call::new(Method::POST, "/auth/logout".to_owned());
        let token = self.session.signed_in().map(|signed_in| signed_in.token);
        drop(send::<serde_json::Value>(&call, token.as_deref()).await);
        self.session.end(SignOutReason::SignedOut);
    }

    pub async fn rename_me(self, name: &str) -> Result<User, Problem> {
        let body = UpdateMe { name: name.to_owned() };
        self.call(Call::new(Method::PATCH, "/me".to_owned()).body(&body)).await
    }

    pub async fn change_password(self, body: &ChangePassword) -> Result<(), Problem> {
        self.create("/me/password".to_owned(), body).await
    }

    pub async fn second_factor(self) -> Result<SecondFactor, Problem> {
        self.read("/me/second-factor".to_owned()).await
    }

    pub async fn begin_second_factor(
        self,
        body: &BeginSecondFactor,
    ) -> Result<NewSecondFactor, Problem> {
        self.create("/me/second-factor".to_owned(), body).await
    }

    pub async fn confirm_second_factor(self, body: &PresentCode) -> Result<RecoveryCodes, Problem> {
        self.create("/me/second-factor/confirm".to_owned(), body).await
    }

    pub async fn remove_second_factor(self, body: &RemoveSecondFactor) -> Result<(), Problem> {
        self.call(Call::new(Method::DELETE, "/me/second-factor".to_owned()).body(body)).await
    }

    /// Asks for a link for a new password by e-mail.
    pub async fn request_reset(self, email: &str) -> Result<(), Problem> {
        let body = RequestReset { email: email.to_owned() };
        send(&Call::new(Method::POST, "/auth/password-reset".to_owned()).body(&body), None).await
    }

    /// Sets a new password with the token of a link.
    pub async fn reset_password(self, body: &ResetPassword) -> Result<(), Problem> {
        let call = Call::new(Method::POST, "/auth/password-reset/confirm".to_owned()).body(body);
        send(&call, None).await
    }

    /// The person's own sessions, most recently used first.
    pub async fn sessions(self) -> Result<Vec<Session>, Problem> {
        let page: Page<Session> = self.read("/me/sessions".to_owned()).await?;
        Ok(page.data)
    }

    pub async fn end_session(self, id: &str) -> Result<(), Problem> {
        self.call(Call::new(Method::DELETE, format!("/me/sessions/{id}"))).await
    }

    /// Ends all of the person's sessions, including this one.
    pub async fn sign_out_everywhere(self) -> Result<(), Problem> {
        self.call::<()>(Call::new(Method::DELETE, "/me/sessions".to_owned())).await?;
        self.session.end(SignOutReason::SignedOut);
        Ok(())
    }

    pub async fn me(self) -> Result<Me, Problem> {
        self.read("/me".to_owned()).await
    }
}
