//! Delivers the decisions that a gate exports.
//!
//! Each line is written once. What cannot be written is lost and counted, so a receiver that is away costs no memory.

use std::io::{self, Write as _};
use std::time::Duration;

use anyhow::Context as _;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, redirect};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;
use tokio_util::sync::CancellationToken;
use weir_gate::DecisionLines;

use crate::config::Destination;

/// Delivers lines to one destination.
#[derive(Debug)]
pub struct Delivery {
    sink: Sink,
    /// Whether the last delivery failed.
    fails: bool,
}

#[derive(Debug)]
enum Sink {
    Stdout,
    File(File),
    Http(Client, SecretString),
}

/// The longest time for one request.
const HTTP_DEADLINE: Duration = Duration::from_secs(5);
/// The pause between two requests, in which lines gather.
const HTTP_PAUSE: Duration = Duration::from_secs(1);

impl Delivery {
    /// Opens the destination.
    pub async fn open(to: Destination) -> anyhow::Result<Self> {
        let sink = match to {
            Destination::Stdout => Sink::Stdout,
            Destination::File(path) => {
                let file = OpenOptions::new().create(true).append(true).open(&path).await;
                Sink::File(file.with_context(|| format!("open {}", path.display()))?)
            }
            Destination::Http(url) => {
                let client = Client::builder().timeout(HTTP_DEADLINE).no_proxy();
                let client = client.redirect(redirect::Policy::none());
                Sink::Http(client.build().context("make a client of HTTP")?, url)
            }
        };
        Ok(Self { sink, fails: false })
    }

    /// Delivers lines until `drained`, and then those that are left.
    pub async fn run(mut self, mut lines: DecisionLines, drained: CancellationToken) {
        let mut text = String::new();
        loop {
            text.clear();
            let next = async {
                if matches!(self.sink, Sink::Http(..)) {
                    tokio::time::sleep(HTTP_PAUSE).await;
                }
                lines.next(&mut text).await
            };
            let Some(count) = drained.run_until_cancelled(next).await else { break };
            self.deliver(&lines, &text, count).await;
        }
        // A batch that was taken when `drained` was cancelled is still in `text`.
        let taken = text.lines().count();
        let count = taken + lines.rest(&mut text);
        if count > 0 {
            self.deliver(&lines, &text, count).await;
        }
    }

    async fn deliver(&mut self, lines: &DecisionLines, text: &str, count: usize) {
        let delivered = match &mut self.sink {
            Sink::Stdout => print(text.to_owned()).await,
            Sink::File(file) => append(file, text).await.map_err(anyhow::Error::from),
            Sink::Http(client, url) => post(client, url, text).await,
        };
        match delivered {
            Ok(()) => {
                lines.delivered(count);
                if self.fails {
                    tracing::info!("decisions are exported again");
                }
                self.fails = false;
            }
            Err(error) => {
                lines.lost(count);
                if !self.fails {
                    tracing::warn!(
                        cause = format!("{error:#}"),
                        "decisions cannot be exported and are lost"
                    );
                }
                self.fails = true;
            }
        }
    }
}

/// Writes to standard output, on a thread that can wait for its reader.
async fn print(text: String) -> anyhow::Result<()> {
    let written = tokio::task::spawn_blocking(move || {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    });
    Ok(written.await??)
}

async fn append(file: &mut File, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes()).await?;
    file.flush().await
}

/// Sends lines as one request. The error does not contain the address, which can have a password.
async fn post(client: &Client, url: &SecretString, text: &str) -> anyhow::Result<()> {
    let request = client.post(url.expose_secret()).header(CONTENT_TYPE, "application/x-ndjson");
    let answer = request.body(text.to_owned()).send().await.map_err(reqwest::Error::without_url)?;
    answer.error_for_status().map_err(reqwest::Error::without_url)?;
    Ok(())
}
