//! Sign-in, sign-up, sign-out and the signed-in person's account.

use futures_util::{FutureExt as _, TryFutureExt as _};
use gloo_net::http::Method;
use weir_wire::second_factors::{
    BeginSecondFactor, NewSecondFactor, PresentCode, RecoveryCodes, RemoveSecondFactor,
    RequestReset, ResetPassword, SecondFactor,
};
use weir_wire::sessions::{
    ChangePassword, ConfirmSignUp, LogIn, LoggedIn, Me, PendingSignUp, Session, SignInOptions,
    SignUp, SignedUp, UpdateMe, User,
};

use super::request::{Call, send, send_text};
use super::{Answer, Api, Problem};
use crate::session::SignOutReason;

impl Api {
    /// The options of this installation for people without an account.
    pub fn sign_in_options(self) -> Answer<SignInOptions> {
        send(Call::new(Method::GET, "/auth/options".to_owned()))
    }

    pub async fn sign_in(self, body: &LogIn) -> Result<(), Problem> {
        let call = Call::new(Method::POST, "/auth/login".to_owned()).body(body);
        let LoggedIn { user, access_token, expires_in_s, .. } = send(call).await?;
        self.session.begin(user, access_token, expires_in_s);
        Ok(())
    }

    /// Creates an account and its first tenant. Returns the tenant's id.
    pub fn sign_up(self, body: &SignUp) -> Answer<String> {
        self.begin_with(Call::new(Method::POST, "/auth/signup".to_owned()).body(body))
    }

    /// Asks for an account where sign-ups are confirmed.
    pub fn request_sign_up(self, body: &SignUp) -> Answer<PendingSignUp> {
        send(Call::new(Method::POST, "/auth/signup".to_owned()).body(body))
    }

    /// Finishes a sign-up, and returns the id of the new tenant.
    pub fn confirm_sign_up(self, body: &ConfirmSignUp) -> Answer<String> {
        self.begin_with(Call::new(Method::POST, "/auth/signup/confirm".to_owned()).body(body))
    }

    /// Begins the session of a new account, and returns the id of its tenant.
    fn begin_with(self, call: Call) -> Answer<String> {
        let begin = move |signed_up: SignedUp| {
            let SignedUp { user, tenant, access_token, expires_in_s, .. } = signed_up;
            self.session.begin(user, access_token, expires_in_s);
            tenant.id
        };
        send(call).map_ok(begin).boxed_local()
    }

    /// Ends the local session even if the server cannot be reached.
    pub async fn sign_out(self) {
        let call = Call::new(Method::POST, "/auth/logout".to_owned());
        let token = self.session.signed_in().map(|signed_in| signed_in.token);
        drop(send_text(&call, token.as_deref()).await);
        self.session.end(SignOutReason::SignedOut);
    }

    pub fn rename_me(self, name: &str) -> Answer<User> {
        let body = UpdateMe { name: name.to_owned() };
        self.call(Call::new(Method::PATCH, "/me".to_owned()).body(&body))
    }

    pub fn change_password(self, body: &ChangePassword) -> Answer<()> {
        self.create("/me/password".to_owned(), body)
    }

    pub fn second_factor(self) -> Answer<SecondFactor> {
        self.read("/me/second-factor".to_owned())
    }

    pub fn begin_second_factor(self, body: &BeginSecondFactor) -> Answer<NewSecondFactor> {
        self.create("/me/second-factor".to_owned(), body)
    }

    pub fn confirm_second_factor(self, body: &PresentCode) -> Answer<RecoveryCodes> {
        self.create("/me/second-factor/confirm".to_owned(), body)
    }

    pub fn remove_second_factor(self, body: &RemoveSecondFactor) -> Answer<()> {
        self.call(Call::new(Method::DELETE, "/me/second-factor".to_owned()).body(body))
    }

    /// Asks for a link for a new password by e-mail.
    pub fn request_reset(self, email: &str) -> Answer<()> {
        let body = RequestReset { email: email.to_owned() };
        send(Call::new(Method::POST, "/auth/password-reset".to_owned()).body(&body))
    }

    /// Sets a new password with the token of a link.
    pub fn reset_password(self, body: &ResetPassword) -> Answer<()> {
        let call = Call::new(Method::POST, "/auth/password-reset/confirm".to_owned()).body(body);
        send(call)
    }

    /// The person's own sessions, most recently used first.
    pub fn sessions(self) -> Answer<Vec<Session>> {
        self.list("/me/sessions".to_owned())
    }

    pub fn end_session(self, id: &str) -> Answer<()> {
        self.call(Call::new(Method::DELETE, format!("/me/sessions/{id}")))
    }

    /// Ends all of the person's sessions, including this one.
    pub fn sign_out_everywhere(self) -> Answer<()> {
        let end = move |()| self.session.end(SignOutReason::SignedOut);
        self.call(Call::new(Method::DELETE, "/me/sessions".to_owned())).map_ok(end).boxed_local()
    }

    pub fn me(self) -> Answer<Me> {
        self.read("/me".to_owned())
    }
}
