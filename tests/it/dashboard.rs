//! The dashboard in a real browser: the whole chain from a click to a decision, and what the rule editor draws.

use std::path::Path;
use std::process::Command;

use weir_local::ScratchDir;

use crate::harness::Dev;

/// Tells the stories of `tests/browser`. `cargo xtask setup` brings what they need.
#[tokio::test]
async fn stories_are_told_in_a_real_browser() {
    let browser = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser");
    assert!(
        browser.join("node_modules").is_dir(),
        "{} has no node_modules: run `npm ci` there, or `cargo xtask test`",
        browser.display()
    );
    let scratch = ScratchDir::create().expect("a scratch folder");
    let dev = Dev::start(scratch.path()).await;
    for script in ["story.mjs", "picture.mjs"] {
        let mut story = Command::new("node");
        story
            .arg(browser.join(script))
            .current_dir(&browser)
            .env("BASE_URL", dev.text("/control"))
            .env("EMAIL", dev.text("/email"))
            .env("PASSWORD", dev.text("/password"))
            .env("GATES", [dev.text("/gates/0"), dev.text("/gates/1")].join(","));
        let told = tokio::task::spawn_blocking(move || story.output()).await.expect("it ends");
        let told = told.unwrap_or_else(|error| panic!("node (20 or newer) is needed: {error}"));
        let said = [told.stdout, told.stderr].concat();
        assert!(told.status.success(), "{script}: {}", String::from_utf8_lossy(&said));
    }
}
