//! The commands of the workflows that the page shows, in the order in which CI runs them.

use std::fs;
use std::path::Path;
use std::process::Command;

use reqwest::Method;
use serde_json::Value;

use super::{Automation, manifest};
use crate::harness::{folder, shared};
use crate::tour::shell;

/// The workflows of the page, as the lines of their commands.
fn workflows() -> Vec<Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/rules-as-code.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, section) = page.split_once("\n## In CI\n").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("the next section");
    let blocks = section.split("```yaml\n").skip(1);
    let commands = blocks.map(|block| {
        let (yaml, _) = block.split_once("\n```").expect("the block ends");
        let lines = yaml.lines().map(|line| {
            let line = line.trim_start().trim_start_matches("- ");
            line.trim_start_matches("run: ").to_owned()
        });
        lines.filter(|line| line.starts_with("weir ")).collect()
    });
    commands.collect()
}

/// Runs a line as CI does: its exit code is that of the step.
async fn run(here: &Automation<'_>, line: &str) {
    let mut shell: Command = shell(line);
    shell
        .current_dir(&here.folder)
        .env("WEIR_URL", &here.tenant.stack.control.url)
        .env("WEIR_TENANT", &here.tenant.id)
        .env("WEIR_KEY", &here.key);
    let ended = tokio::task::spawn_blocking(move || shell.output()).await.expect("it ends");
    let ended = ended.expect("there is a bash");
    assert!(ended.status.success(), "{line}: {}", String::from_utf8_lossy(&ended.stderr));
}

#[tokio::test]
async fn workflows_of_the_page_plan_and_apply() {
    let workflows = workflows();
    assert_eq!(workflows.len(), 2, "GitHub and GitLab: {workflows:?}");
    for workflow in workflows {
        let verbs: Vec<_> = workflow.iter().filter_map(|line| line.split(' ').nth(1)).collect();
        assert_eq!(verbs, ["check", "diff", "apply"]);
        let here = Automation::start(shared().await, "ci").await;
        let limits = folder(&here.folder, "limits");
        for limit in [500, 100] {
            fs::write(limits.join("a.yaml"), manifest("login", limit)).expect("a file of the test");
            for line in &workflow {
                run(&here, line).await;
            }
            let rules = here.tenant.admin(Method::GET, "/rules", &Value::Null).await.expect(200);
            assert_eq!(rules.body["data"][0]["limits"][0]["limit"], limit);
        }
        let plan = fs::read_to_string(here.folder.join("plan.md")).expect("the plan");
        assert!(plan.contains("\n    limits[0].limit: 500 -> 100\n"), "{plan}");
        assert!(plan.contains("0 to create, 1 to change, 0 to delete, 0 unchanged"), "{plan}");
    }
}
