//! The schema of the files, with the language server that editors use.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Automation;
use crate::harness::{Http, send, shared};

/// The answers of the language server for a file. `|` is the place of the cursor.
fn asked(folder: &Path, text: &str) -> Value {
    let file = folder.join("rule.yaml");
    fs::write(&file, text).expect("a file of the test");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("editor/language_server.mjs");
    let output =
        Command::new("node").arg(script).arg(folder.join("schema.json")).arg(file).output();
    let output = output.expect("Node.js is installed by `cargo xtask setup --for test`");
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

#[tokio::test]
async fn editor_completes_algorithms_and_underlines_wrong_fields() {
    let stack = shared().await;
    let here = Automation::start(stack, "schema").await;
    let schema = here.run(&["schema"]).await.expect(0);
    let url = format!("{}/schemas/weir-v1.json", stack.control.url);
    let served = send(Http::new().request(reqwest::Method::GET, &url)).await.expect(200);
    assert_eq!(served.body, schema.json());
    fs::write(here.folder.join("schema.json"), &schema.out).expect("a file of the test");

    let head =
        "apiVersion: weir/v1\nkind: Rule\nmetadata: { namespace: api, name: login }\nspec:\n";
    let wrong =
        asked(&here.folder, &format!("{head}  countBy: [user]\n  limits:\n    - algorithm: |\n"));
    let completions = wrong["completions"].as_array().expect("a list");
    assert_eq!(completions.len(), 8, "{wrong}");
    assert!(completions.iter().any(|word| word == "sliding_window_log"), "{wrong}");
    let places: Vec<_> = wrong["diagnostics"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|found| found["message"].as_str().is_some_and(|text| text.contains("countBy")))
        .map(|found| (found["line"].as_u64(), found["column"].as_u64()))
        .collect();
    assert_eq!(places, [(Some(5), Some(3))], "{wrong}");

    let limit = "{ algorithm: sliding_window_log, limit: 5, window: 1m }";
    let more = "{ algorithm: quota, limit: 5, period: month }";
    let valid = asked(
        &here.folder,
        &format!("{head}  count_by: [user]\n  limits:\n    - {limit}\n    - {more}\n|"),
    );
    assert_eq!(valid["diagnostics"], Value::Array(Vec::new()), "{valid}");

    let head = "apiVersion: weir/v1\nkind: Gateway\nmetadata: { name: edge }\nspec:\n";
    let wrong = asked(&here.folder, &format!("{head}  trustedHops: 1\n  reads: |\n"));
    let completions = wrong["completions"].as_array().expect("a list");
    assert!(completions.iter().any(|word| word == "forward_auth"), "{wrong}");
    let messages = wrong["diagnostics"].as_array().into_iter().flatten();
    let texts: Vec<_> = messages.filter_map(|found| found["message"].as_str()).collect();
    assert!(texts.iter().any(|text| text.contains("trustedHops")), "{wrong}");
    let domains =
        "apiVersion: weir/v1\nkind: EnvoyDomains\nspec:\n  - name: http\n    domain: eg/http\n";
    for text in [
        format!("{head}  reads: forward_auth\n  attributes:\n    ip: {{ from: address }}\n|"),
        format!("{domains}    rename: {{ remote_address: ip }}\n|"),
    ] {
        let valid = asked(&here.folder, &text);
        assert_eq!(valid["diagnostics"], Value::Array(Vec::new()), "{valid}");
    }
    let wrong = asked(&here.folder, &format!("{domains}    reads: ext_authz\n|"));
    assert!(wrong["diagnostics"].to_string().contains("reads"), "{wrong}");

    let head =
        "apiVersion: weir/v1\nkind: Overrides\nmetadata: { namespace: api, rule: login }\nspec:\n";
    let valid = format!(
        "{head}  - {{ subject: {{ user: u-1 }}, limits: [{limit}], reason: partner }}\n  - {{ subject: {{ user: u-2 }}, action: deny }}\n|"
    );
    let valid = asked(&here.folder, &valid);
    assert_eq!(valid["diagnostics"], Value::Array(Vec::new()), "{valid}");
    let wrong = format!("{head}  - subject: {{ user: u-1 }}\n    expires: 2027-01-01T00:00:00Z\n|");
    let wrong = asked(&here.folder, &wrong);
    assert!(wrong["diagnostics"].to_string().contains("expires"), "{wrong}");
}
