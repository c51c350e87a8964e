//! ID tokens of a provider that signs whatever it is asked to.

use std::sync::Arc;
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openidconnect::PrivateSigningKey as _;
use openidconnect::core::{CoreJwsSigningAlgorithm, CoreRsaPrivateSigningKey};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// A key of this test alone.
const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\n\
MIIEogIBAAKCAQEApDF4FDYwFwGqYhu905TmDBGuLIGAsImTo5cCzaPvMl0JbJ+r\n\
pPD4FL30+kpIgb0HzRb4XkayhDv1ZvP8cUp8A5nCNPdVBd3Q7TJJ5Xq+sO/R4oeC\n\
1KEY2nIKE9jZdkVBiAe/9HGKvQeUHjudine/RwKVRoAv6tANSuLzZgL+eIpkFJlk\n\
w5gd3fLjXEkmJRJDxLQIXP5aZDghJgJsvvx7YelRu4D9o1f/R8wpEnyH0KS6iYco\n\
idUg94BoKJCK/p83HEr7yYW4L7NKz0+18cWES6G0zxFLgsuysECFb37XnnUK1D4A\n\
zZxw9DEugIg8mEzD6lZxQ43PJc19STclE63E3wIDAQABAoIBABktPArpW4q45tNA\n\
CrsDUBprVEhJxp218s1jrfqHV88NWhEYaLLpf44lVIepKqC43MCIyaZ3HmTNZtiV\n\
sqX9NF0++fsHg+IwPEWVb6RVo8uGHSpS+ho4O5M0vQaEZU/6gve6AdKYiHFqKeml\n\
iDIqdh+MLgSPSl8DQ6Pcf1MAmYbfqWQ4rxHeiq6/pNYOYB5ZrKaRADgg97CSgudp\n\
q/TVNBO4jTlPw/4A8NiCgE13V3x7yaTvRYqC19KwKfJiNu8EZZJ5BCWKimT9KCax\n\
De6lTrA0pEcUTKbgrNIUR54a9Pe31590atgl9xRls3E+Yfp2fmQNtROQkdzUb7aC\n\
v4XvTNUCgYEAznw845nPbJeOIcpjU/nt/Sk0tHcBfxXwS6wZFk3jsyE4f5AT2iuN\n\
P+d8ny18Xn1jyCA7fWE2RCGuDBKol+8SXoLYiR09hoaOiYy6MiE9gXCT+Pnjlz7/\n\
LOcKlxaolV7mxw2BjxI8dCphAdtraq1kaMGx84DCyoPpCsWa/tuhHRMCgYEAy5D/\n\
Sg0udExKiUUWArAbse4+djSQZwz+AAvkgUpKWqmJiTwTB+bSNhTQ4PSP4OElM6AQ\n\
bpKQgwgeIYN/oXnoRuVJkhcipD/n9LOj1kiytPHwRLLcsVxGrFgSDJE3BL1Awwpk\n\
S0SDvnNs50QSK43wMXwwUIlK9ViJ6LJyPyiG7oUCgYADnfGDGyKjCFSZCu6KfgpJ\n\
MPuXXa5NB5lZ+f3Ggj7G2IIg2ek/HRwwTmHEeAuBrDifPNFN9PH6Z4yg8YK6hpmP\n\
xkL8w+JcBOdiSXDJiAOHzO0Ko3X1JElcBAAPfXoeg7cPLZFjbDJa5pMkcS+Egt0L\n\
aLkxRsQiwATJB4UbicVcuQKBgGM+cqfYm1BJrYEU9HElCKuLmloosEn9VIwTQDkk\n\
TfG7e/kzF5gfmVaSeW9i7A5X1bpAjCJMRDYNrBrssDm6ZFrECEU4EESBf4WWWwbq\n\
dG2xElF73gp+EVqOqWYFGgyuc7djBpiHc69TOMHbNvyS+4o0oJ1zAd9xZfLTpM1T\n\
5cy9AoGAS6PDtU7xrunEn+OIIR8FcWCC0vYHi/RUvsPrih9750Z/L9B7DyvVuQyj\n\
aof9qhWQSIUStk5stiMVn2UGPCN+owfz89DprxI00tsnXWTC4nfHeNB742GwtltX\n\
ncJ79vcC7V+s9wgigRLE/z9PPSmCoBI0D5+gOjYa7bLHQs3+HZs=\n\
-----END RSA PRIVATE KEY-----\n";

/// A provider that answers with these claims in its ID token.
async fn provider(claims: Value) -> Provider {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let issuer = format!("http://{}", listener.local_addr().expect("bound"));
    let answers = Arc::new(Answers::new(&issuer, claims));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answers = Arc::clone(&answers);
            tokio::spawn(async move { answers.serve(stream).await });
        }
    });
    let settings = ProviderSettings {
        issuer,
        client_id: "weir".to_owned(),
        client_secret: Some("a secret".to_owned()),
        redirect_url: "https://limits.example.com/callback".to_owned(),
    };
    Provider::new(settings).expect("valid settings")
}

struct Answers {
    document: Value,
    keys: Value,
    token: Value,
}

impl Answers {
    fn new(issuer: &str, mut claims: Value) -> Self {
        let key = CoreRsaPrivateSigningKey::from_pem(KEY, None).expect("a key");
        #[expect(clippy::disallowed_methods, reason = "the library compares with the present time")]
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
        claims["iss"] = issuer.into();
        claims["iat"] = now.as_secs().into();
        claims["exp"] = (now.as_secs() + 600).into();
        claims["nonce"] = "the nonce".into();
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&json!({ "alg": "RS256" })), part(&claims));
        let algorithm = CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256;
        let signature = key.sign(&algorithm, signed.as_bytes()).expect("a signature");
        let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature));
        Self {
            document: json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
                "jwks_uri": format!("{issuer}/keys"),
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
            }),
            keys: json!({ "keys": [key.as_verification_key()] }),
            token: json!({ "access_token": "x", "token_type": "Bearer", "id_token": token }),
        }
    }

    /// Answers one request and closes the connection.
    async fn serve(&self, mut stream: TcpStream) {
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a request"));
        }
        let head = String::from_utf8(head).expect("text").to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.trim().parse().expect("a number"));
        stream.read_exact(&mut vec![0; length]).await.expect("the body");
        let body = match head.split(' ').nth(1) {
            Some("/token") => &self.token,
            Some("/keys") => &self.keys,
            _ => &self.document,
        };
        let body = body.to_string();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).await.expect("the client reads");
    }
}

async fn identity(claims: Value) -> Result<Identity, OidcError> {
    let transaction = Transaction {
        state: "the state".to_owned(),
        nonce: "the nonce".to_owned(),
        verifier: "v".repeat(43),
    };
    provider(claims).await.identity("a code".to_owned(), &transaction).await
}

fn claims() -> Value {
    json!({ "aud": "weir", "sub": "7", "email": "a@example.com", "email_verified": true })
}

#[tokio::test]
async fn tokens_that_another_client_asked_for_are_refused() {
    for party in [None, Some("weir")] {
        let mut claims = claims();
        claims["azp"] = party.into();
        let found = identity(claims).await.expect("a person");
        assert_eq!(
            (found.subject.as_str(), found.verified_email),
            ("7", Some("a@example.com".into()))
        );
    }
    for (audience, party) in [("weir", "other"), ("weir", ""), ("other", "weir")] {
        let mut claims = claims();
        (claims["aud"], claims["azp"]) = (audience.into(), party.into());
        let refused = identity(claims).await.expect_err("a refusal");
        assert!(matches!(refused, OidcError::Token(_)), "{audience} {party}: {refused}");
    }
}

#[tokio::test]
async fn subjects_that_identify_nobody_are_refused() {
    for subject in ["7", &"x".repeat(255), "auth0|7 ü"] {
        let mut claims = claims();
        claims["sub"] = subject.into();
        assert_eq!(identity(claims).await.expect("a person").subject, subject);
    }
    for subject in ["", "a\0b", "\0", "a\nb", &"x".repeat(256)] {
        let mut claims = claims();
        claims["sub"] = subject.into();
        let refused = identity(claims).await.expect_err("a refusal");
        assert!(matches!(refused, OidcError::Token(_)), "{subject:?}: {refused}");
    }
}
