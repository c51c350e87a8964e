//! The SMTP server that takes all messages, and its address.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use percent_encoding::percent_decode_str;
use url::Url;

use crate::mail::Mail;
use crate::send_error::SendError;

/// The server, and the sender of all messages. `Debug` shows neither.
pub struct Relay {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

/// The reason why a relay cannot be used. It contains no part of the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRelay {
    /// Not an address of an SMTP server.
    #[error(
        "must be an address such as smtps://user:password@mail.example.com or smtp://127.0.0.1:25"
    )]
    Url,
    /// A user without a password, or a password without a user.
    #[error("needs both a user and a password, or neither")]
    Credentials,
    /// Not a sender.
    #[error("must be an address such as weir@example.com, or Weir <weir@example.com>")]
    From,
    /// The certificates of the system cannot be used.
    #[error("needs TLS, which cannot be prepared: {0}")]
    Tls(String),
}

const SUBMISSION_PORT: u16 = 587;
const SUBMISSIONS_PORT: u16 = 465;
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

impl Relay {
    /// A relay at `smtp://[user:password@]host[:port]` or `smtps://…`, with `from` as the sender of all messages.
    ///
    /// `smtps` encrypts from the first byte. `smtp` encrypts where the server offers STARTTLS. If there are credentials, it
    /// requires that of every server that is not on this machine, so a password is never sent in the clear.
    pub fn parse(url: &str, from: &str) -> Result<Self, InvalidRelay> {
        let from: Mailbox = from.parse().map_err(|_| InvalidRelay::From)?;
        let url = Url::parse(url).map_err(|_| InvalidRelay::Url)?;
        let bare =
            matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        let host =
            url.host_str().filter(|host| bare && !host.is_empty()).ok_or(InvalidRelay::Url)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let credentials = credentials(&url)?;
        let tls = || {
            let parameters = TlsParameters::new(host.to_owned());
            parameters.map_err(|error| InvalidRelay::Tls(error.to_string()))
        };
        let (port, tls) = match url.scheme() {
            "smtps" => (SUBMISSIONS_PORT, Tls::Wrapper(tls()?)),
            "smtp" if credentials.is_some() && !is_this_machine(host) => {
                (SUBMISSION_PORT, Tls::Required(tls()?))
            }
            "smtp" => (SUBMISSION_PORT, Tls::Opportunistic(tls()?)),
            _ => return Err(InvalidRelay::Url),
        };
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
            .port(url.port().unwrap_or(port))
            .tls(tls)
            .hello_name(ClientId::Domain(from.email.domain().to_owned()))
            .timeout(Some(CONNECT_DEADLINE));
        if let Some(credentials) = credentials {
            builder = builder.credentials(credentials);
        }
        Ok(Self { transport: builder.build(), from })
    }

    /// Sends a message once, within `deadline`. Returns the code with which the server accepted it.
    pub async fn send(&self, mail: &Mail, deadline: Duration) -> Result<u16, SendError> {
        let message = mail.message(&self.from)?;
        match tokio::time::timeout(deadline, self.transport.send(message)).await {
            Ok(Ok(accepted)) => Ok(accepted.code().into()),
            Ok(Err(error)) => Err(SendError::of(&error)),
            Err(_) => Err(SendError::TimedOut),
        }
    }
}

/// The user and the password, which can be percent-encoded.
fn credentials(url: &Url) -> Result<Option<Credentials>, InvalidRelay> {
    let decoded = |text: &str| {
        let decoded = percent_decode_str(text).decode_utf8();
        decoded.map(Cow::into_owned).map_err(|_| InvalidRelay::Credentials)
    };
    match (url.username(), url.password().unwrap_or_default()) {
        ("", "") => Ok(None),
        ("", _) | (_, "") => Err(InvalidRelay::Credentials),
        (user, password) => Ok(Some(Credentials::new(decoded(user)?, decoded(password)?))),
    }
}

fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.to_canonical().is_loopback())
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Relay")
    }
}
