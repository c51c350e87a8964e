//! The dashboard in a real browser: the whole chain from a click to a decision.

use std::path::Path;
use std::process::Command;

use weir_local::ScratchDir;

use crate::harness::Dev;

/// Tells the story of `tests/browser/story.mjs`. `cargo xtask setup` brings what it needs.
#[tokio::test]
async fn first_story_is_told_in_a_real_browser() {
    let browser = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser");
    assert!(
        browser.join("node_modules").is_dir(),
        "{} has no node_modules: run `npm ci` there, or `cargo xtask test`",
        browser.display()
    );
    let scratch = ScratchDir::create().expect("a scratch folder");
    let dev = Dev::start(scratch.path()).await;
    let mut story = Command::new("node");
    story
        .arg(browser.join("story.mjs"))
        .current_dir(&browser)
        .env("BASE_URL", dev.text("/control"))
        .env("EMAIL", dev.text("/email"))
        .env("PASSWORD", dev.text("/password"))
        .env("GATES", [dev.text("/gates/0"), dev.text("/gates/1")].join(","));
    let told = tokio::task::spawn_blocking(move || story.output()).await.expect("it ends");
    let told = told.unwrap_or_else(|error| panic!("node (20 or newer) is needed: {error}"));
    let said = [told.stdout, told.stderr].concat();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&said));
}
