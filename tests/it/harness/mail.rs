//! A real SMTP server, and the messages that it received.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use weir_local::{Launch, ScratchDir, StopSignal, WatchedProcess};

use super::{folder, installed, seconds, until};

/// A running server.
#[derive(Debug)]
pub struct MailServer {
    pub port: u16,
    /// The folder with a JSON file for each message.
    pub letters: PathBuf,
    _process: WatchedProcess,
    scratch: ScratchDir,
}

/// The demands of a server.
#[derive(Debug, Default)]
pub struct MailServerOptions {
    /// The names of a certificate, with which the server offers STARTTLS.
    pub certificate_of: Vec<String>,
    /// The user and the password that the server requires, as `user:password`.
    pub login: &'static str,
}

/// A message that the server received, decoded by another library than the one that wrote it.
#[derive(Debug, Clone)]
pub struct Letter(Value);

impl MailServer {
    /// Starts a server and waits until it listens.
    pub async fn start(options: MailServerOptions) -> Self {
        let scratch = ScratchDir::create().expect("a scratch folder");
        let letters = folder(scratch.path(), "letters");
        let certificate = if options.certificate_of.is_empty() {
            String::new()
        } else {
            certificate(scratch.path(), options.certificate_of)
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/harness/mail_server.py");
        let python = installed("aiosmtpd").with_file_name("python");
        let said = scratch.path().join("port");
        let launch = Launch::new(python, scratch.path(), &scratch.path().join("log"))
            .args([script.display().to_string(), letters.display().to_string()])
            .args([certificate.as_str(), options.login])
            .stdout(&said)
            .stop_by(StopSignal::Terminate, seconds(10));
        let process = WatchedProcess::spawn(launch).expect("start the SMTP server");
        let mut port = 0;
        until(seconds(30), "the SMTP server listens", async || {
            assert_eq!(process.exit_code(), None, "it ended: {}", process.log_tail());
            port = process.stdout().trim().parse().unwrap_or_default();
            port > 0
        })
        .await;
        Self { port, letters, _process: process, scratch }
    }

    /// The certificate of the server, for those who trust it.
    pub fn certificate_file(&self) -> PathBuf {
        self.scratch.path().join("certificate.pem")
    }

    /// Waits for a message to an address, and returns the newest one.
    pub async fn letter_to(&self, address: &str) -> Letter {
        let mut found = None;
        until(seconds(30), &format!("a message to {address}"), async || {
            found = self.letters_to(address).pop();
            found.is_some()
        })
        .await;
        found.expect("it was found")
    }

    /// The messages to an address so far, the oldest first.
    pub fn letters_to(&self, address: &str) -> Vec<Letter> {
        let mut files: Vec<_> = fs::read_dir(&self.letters)
            .expect("the folder of the messages")
            .map(|entry| entry.expect("an entry of that folder").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        files.sort();
        let letter = |path: &PathBuf| {
            let text = fs::read_to_string(path).expect("a message");
            Letter(serde_json::from_str(&text).expect("JSON"))
        };
        let mut letters: Vec<Letter> = files.iter().map(letter).collect();
        letters.retain(|letter| letter.0["recipients"] == serde_json::json!([address]));
        letters
    }
}

impl Letter {
    /// A value of the message, such as `/headers/subject`.
    pub fn at(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.0["text"].as_str().expect("a text")
    }

    /// The link in the text, and the token in its fragment.
    pub fn link(&self) -> (&str, &str) {
        let line = self.text().lines().find(|line| line.contains("://")).expect("a link");
        line.split_once('#').expect("a fragment")
    }
}

/// Writes a certificate with its key into one file. Returns its path.
fn certificate(folder: &Path, names: Vec<String>) -> String {
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    let key = made.signing_key.serialize_pem();
    fs::write(folder.join("certificate.pem"), made.cert.pem()).expect("a file of the test");
    let both = folder.join("certificate-and-key.pem");
    fs::write(&both, format!("{}{key}", made.cert.pem())).expect("a file of the test");
    both.display().to_string()
}
