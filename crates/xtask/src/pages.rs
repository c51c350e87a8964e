//! Whether a server has the pages that it embeds: starts it without Postgres and Redis, which pages do not need, and asks for the
//! dashboard, the guide and the API reference.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use weir_local::{Launch, ScratchDir, StopSignal, WatchedProcess, free_port};

/// The longest that the server can take to start.
const START: Duration = Duration::from_mins(1);
const ANSWER: Duration = Duration::from_secs(30);

/// The server does not start without one. Nobody signs in.
const SIGNING_KEY: &str = "sw/aaGTTCrC118SFiBbJoNt7tGm4SpsHQwMwBCDHSx4=";

/// Each page, and text that it has.
const PAGES: [(&str, &str); 3] =
    [("/", "/assets/"), ("/guide/", "algorithms.html"), ("/docs/", "control-rules.html")];

/// Fails if `weir` serves one of the pages not, or not whole.
pub fn check(weir: &Path) -> Result<()> {
    let scratch = ScratchDir::create()?;
    let port = free_port()?;
    let log = scratch.path().join("log");
    // Postgres and Redis are away: nothing listens on port 1.
    let launch = Launch::new(weir, scratch.path(), &log)
        .args(["serve", "--roles", "control"])
        .env("WEIR_CONTROL_ADDR", format!("127.0.0.1:{port}"))
        .env("WEIR_DATABASE_URL", "postgres://nobody@127.0.0.1:1/nothing")
        .env("WEIR_REDIS_URL", "redis://127.0.0.1:1")
        .env("WEIR_JWT_KEY", SIGNING_KEY)
        .env("WEIR_DRAIN_MS", "0")
        .stop_by(StopSignal::Terminate, ANSWER);
    let process = WatchedProcess::spawn(launch).context("start the server")?;
    let until = Instant::now() + START;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let text = || std::fs::read_to_string(&log).unwrap_or_default();
        ensure!(process.exit_code().is_none(), "the server ended:\n{}", text());
        ensure!(Instant::now() < until, "the server does not listen:\n{}", text());
        std::thread::yield_now();
    }
    every_page(|path| get(port, path))
}

/// Asks for each page, and for the first file that the dashboard's page names.
fn every_page(ask: impl Fn(&str) -> Result<Answer>) -> Result<()> {
    for (path, text) in PAGES {
        let answer = ask(path)?;
        ensure!(answer.status == 200, "the server answers {path} with {}", answer.status);
        let Some((_, rest)) = answer.body.split_once(text) else {
            bail!("the page at {path} does not name {text}");
        };
        if text == "/assets/" {
            let name = rest.split(['"', '\'', ' ', '>']).next().unwrap_or_default();
            let status = ask(&format!("{text}{name}"))?.status;
            ensure!(status == 200, "the server answers {text}{name} with {status}");
        }
    }
    Ok(())
}

struct Answer {
    status: u16,
    body: String,
}

fn get(port: u16, path: &str) -> Result<Answer> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).context("connect to the server")?;
    stream.set_read_timeout(Some(ANSWER))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).with_context(|| format!("read the answer to {path}"))?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").context("the answer has no head")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok(Answer { status: status.context("the answer has no status")?, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that has all pages but one.
    fn without(missing: &str) -> Result<()> {
        every_page(|path| {
            let body = match path {
                "/" => r#"<script src="/assets/weir-1.js">"#,
                "/guide/" => r#"<a href="algorithms.html">"#,
                _ => r#"<a href="control-rules.html">"#,
            };
            let status = if path == missing { 404 } else { 200 };
            Ok(Answer { status, body: body.to_owned() })
        })
    }

    #[test]
    fn server_that_lacks_a_page_is_refused() {
        without("none").expect("all pages");
        for path in ["/", "/assets/weir-1.js", "/guide/", "/docs/"] {
            let refused = without(path).expect_err(path).to_string();
            assert_eq!(refused, format!("the server answers {path} with 404"));
        }
    }
}
