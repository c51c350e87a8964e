//! A real OpenID Connect provider, and a browser that signs in there.

use std::path::{Path, PathBuf};

use reqwest::{Client, Response, redirect};
use weir_local::{Launch, ScratchDir, StopSignal, WatchedProcess};

use super::{seconds, until};

/// A running provider. Each person signs in with a name, without a password.
#[derive(Debug)]
pub struct OidcServer {
    pub issuer: String,
    _process: WatchedProcess,
    _scratch: ScratchDir,
}

impl OidcServer {
    /// The secret of the client `weir`.
    pub const SECRET: &str = "a-secret-of-the-test-with-32-bytes";

    /// Starts a provider and waits until it listens.
    pub async fn start() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("oidc");
        assert!(
            folder.join("node_modules").is_dir(),
            "{} has no node_modules: run `npm ci` there, or `cargo xtask test`",
            folder.display()
        );
        let scratch = ScratchDir::create().expect("a scratch folder");
        let launch =
            Launch::new(PathBuf::from("node"), scratch.path(), &scratch.path().join("log"))
                .args([folder.join("provider.mjs").display().to_string()])
                .args(["0"])
                .stdout(&scratch.path().join("issuer"))
                .stop_by(StopSignal::Terminate, seconds(10));
        let process = WatchedProcess::spawn(launch).expect("start the provider");
        let mut issuer = String::new();
        until(seconds(60), "the provider listens", async || {
            assert_eq!(process.exit_code(), None, "it ended: {}", process.log_tail());
            process.stdout().trim().clone_into(&mut issuer);
            !issuer.is_empty()
        })
        .await;
        Self { issuer, _process: process, _scratch: scratch }
    }

    /// Signs in at an authorization address, as a browser does. Returns the address to which the provider redirects in the end.
    pub async fn sign_in(authorization_url: &str, person: &str) -> String {
        let client = Client::builder().redirect(redirect::Policy::none()).cookie_store(true);
        let client = client.no_proxy().timeout(seconds(30)).build().expect("a client");
        let get = async |url: String| client.get(url).send().await.expect("an answer");
        let origin = authorization_url.split("/auth").next().expect("never empty").to_owned();
        let absolute = |to: String| if to.starts_with('/') { format!("{origin}{to}") } else { to };
        let mut answer = get(authorization_url.to_owned()).await;
        for _ in 0..10 {
            let at = answer.url().to_string();
            if let Some(to) = redirect_of(&answer) {
                let to = absolute(to);
                if !to.starts_with(&origin) {
                    return to;
                }
                answer = get(to).await;
                continue;
            }
            let form = format!("login={person}");
            let request =
                client.post(at).header("content-type", "application/x-www-form-urlencoded");
            answer = request.body(form).send().await.expect("an answer");
        }
        panic!("the provider does not redirect to the dashboard");
    }
}

fn redirect_of(answer: &Response) -> Option<String> {
    let location = answer.headers().get("location")?;
    answer.status().is_redirection().then(|| location.to_str().expect("text").to_owned())
}
