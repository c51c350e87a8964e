//! The dashboard in a real browser: the whole chain from a click to a decision, and the pictures of the rule editor.

use std::path::{Path, PathBuf};
use std::process::Command;

use weir_local::ScratchDir;

use crate::harness::{Dev, MailServer, MailServerOptions, OidcServer, binary, print};

/// Runs all of `tests/browser/scenarios`, even if one fails, in two installations at the same time, because they mostly wait.
/// `cargo xtask setup` installs their dependencies. With `SCREENSHOTS`, the path of a folder, they also write pictures of each page.
#[tokio::test]
async fn scenarios_pass_in_a_real_browser() {
    let browser = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser");
    assert!(
        browser.join("node_modules").is_dir(),
        "{} has no node_modules: run `npm ci` there, or `cargo xtask test`",
        browser.display()
    );
    let scenarios = scenarios(&browser.join("scenarios"));
    assert!(!scenarios.is_empty(), "there are scenarios");
    let part = |first| scenarios.iter().skip(first).step_by(2);
    let failed = tokio::join!(run_all(&browser, part(0)), run_all(&browser, part(1)));
    let failed = [failed.0, failed.1].concat();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Runs the scripts one after another against an installation of their own. Returns the output of those that failed.
async fn run_all(browser: &Path, scripts: impl Iterator<Item = &PathBuf>) -> Vec<String> {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let mail = MailServer::start(MailServerOptions::default()).await;
    let smtp_url = format!("smtp://127.0.0.1:{}", mail.port);
    let provider = OidcServer::start().await;
    let mut args = vec!["--smtp-url", &smtp_url, "--smtp-from", "weir@example.com"];
    args.extend(["--oidc-issuer", &provider.issuer, "--oidc-client-id", "weir"]);
    args.extend(["--oidc-client-secret", OidcServer::SECRET, "--oidc-name", "Example ID"]);
    let dev = Dev::start_with(scratch.path(), &args).await;
    let psql = weir_local::postgres_folder().expect("Postgres is installed").join("psql");
    let mut failed = Vec::new();
    for script in scripts {
        let mut command = Command::new("node");
        command
            .arg(script)
            .current_dir(browser)
            .env("BASE_URL", dev.text("/control"))
            .env("EMAIL", dev.text("/email"))
            .env("PASSWORD", dev.text("/password"))
            .env("TENANT", dev.text("/tenant"))
            .env("WEIR_BIN", binary())
            .env("LETTERS", &mail.letters)
            .env("DATABASE_URL", dev.text("/database_url"))
            .env("PSQL", &psql)
            .env("GATES", [dev.text("/gates/0"), dev.text("/gates/1")].join(","));
        let run =
            tokio::task::spawn_blocking(move || command.output()).await.expect("the task ends");
        let run = run.unwrap_or_else(|error| panic!("node (20 or newer) is needed: {error}"));
        let output = [run.stdout, run.stderr].concat();
        let output = String::from_utf8_lossy(&output);
        print(output.trim_end());
        if !run.status.success() {
            failed.push(format!("{}: {output}", script.display()));
        }
    }
    failed
}

/// The scripts, in the order of their names.
fn scenarios(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder of scenarios");
    let mut scenarios: Vec<_> =
        entries.map(|entry| entry.expect("an entry of that folder").path()).collect();
    scenarios.sort();
    scenarios
}
