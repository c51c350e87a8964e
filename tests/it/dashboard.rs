//! The dashboard in a real browser: the whole chain from a click to a decision, and what the rule editor draws.

use std::path::{Path, PathBuf};
use std::process::Command;

use weir_local::ScratchDir;

use crate::harness::{Dev, print};

/// Tells the stories of `tests/browser/stories`, one after the other. `cargo xtask setup` brings what they need.
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
    // Ignored by git: for whoever wants to see how every page looks.
    let screenshots = Path::new(env!("CARGO_MANIFEST_DIR")).join("../screenshots");
    let stories = stories(&browser.join("stories"));
    assert!(!stories.is_empty(), "there are stories to tell");
    for script in stories {
        let mut story = Command::new("node");
        story
            .arg(&script)
            .current_dir(&browser)
            .env("SCREENSHOTS", &screenshots)
            .env("BASE_URL", dev.text("/control"))
            .env("EMAIL", dev.text("/email"))
            .env("PASSWORD", dev.text("/password"))
            .env("TENANT", dev.text("/tenant"))
            .env("GATES", [dev.text("/gates/0"), dev.text("/gates/1")].join(","));
        let told = tokio::task::spawn_blocking(move || story.output()).await.expect("it ends");
        let told = told.unwrap_or_else(|error| panic!("node (20 or newer) is needed: {error}"));
        let said = [told.stdout, told.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(told.status.success(), "{}: {said}", script.display());
        print(said.trim_end());
    }
}

/// In the order of their names.
fn stories(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder of stories");
    let mut stories: Vec<_> =
        entries.map(|entry| entry.expect("an entry of that folder").path()).collect();
    stories.sort();
    stories
}
