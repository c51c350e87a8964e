//! The README keeps its word: its tour and its examples print exactly what it says they print.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use weir_local::{Guarded, Launch, ScratchDir, StopSignal};

use crate::harness::{base_port, binary, folder, seconds, until};

/// One marked block of the README.
enum Step {
    /// A file to write.
    File { name: String, text: String },
    /// Commands for one shell, which keeps its variables, and what they print.
    Commands { text: String, prints: String },
}

const MARK: &str = "<!-- tour";
const END_OF_STEP: &str = "=== end of step ===";

#[tokio::test]
async fn readme_prints_what_it_says() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let steps = steps(&std::fs::read_to_string(readme).expect("there is a README"));
    let scratch = ScratchDir::create().expect("a scratch folder");
    let folder = folder(scratch.path(), "tour");
    let dev = start(&folder).await;
    for step in &steps {
        if let Step::File { name, text } = step {
            std::fs::write(folder.join(name), text).expect("write an example");
        }
    }
    let script = script(&dev.stdout(), &steps);
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).current_dir(&folder).stdin(Stdio::null());
    let ran = tokio::task::spawn_blocking(move || shell.output()).await.expect("it ends");
    let said = ran.expect("there is a bash").stdout;
    let said = String::from_utf8(said).expect("the tour prints text");
    let mut said: VecDeque<&str> = said.split(END_OF_STEP).map(str::trim).collect();
    for step in &steps {
        if let Step::Commands { text, prints } = step {
            let printed = said.pop_front().unwrap_or("(nothing: the shell had ended)");
            assert_eq!(printed, prints, "printed, and in the README, after:\n{text}");
        }
    }
}

#[test]
fn marked_blocks_are_found() {
    let text = "a\n<!-- tour -->\n```sh\nx\n```\n\n```text\n1\n```\n<!-- tour: f.py -->\n```python\np\n```\n<!-- tour -->\n```sh\ny\n```\nand\n```text\n2\n```\n";
    let found: Vec<String> = steps(text)
        .into_iter()
        .map(|step| match step {
            Step::File { name, text } => format!("{name}: {text}"),
            Step::Commands { text, prints } => format!("{text} -> {prints}"),
        })
        .collect();
    assert_eq!(found, ["x -> 1", "f.py: p\n", "y -> "]);
}

/// Starts what `cargo xtask dev` starts, and waits for its greeting.
async fn start(folder: &Path) -> Guarded {
    let launch = Launch::new(binary(), folder, &folder.join("log"))
        .args(["dev", "--redis-budget-ms", "1000"])
        .args(["--base-port", &base_port().to_string()])
        .stdout(&folder.join("said"))
        .stop_by(StopSignal::Interrupt, seconds(30));
    let dev = Guarded::spawn(launch).expect("start weir dev");
    until(seconds(60), "weir dev greets", async || {
        assert_eq!(dev.exit_code(), None, "weir dev ended: {}", dev.last_words());
        dev.stdout().contains("Ctrl-C stops")
    })
    .await;
    dev
}

/// What a reader pastes: the exports of the greeting, then every block.
fn script(greeting: &str, steps: &[Step]) -> String {
    let exports = greeting.lines().map(str::trim).filter(|line| line.starts_with("export "));
    let mut script = String::from("exec 2>&1\n");
    for export in exports {
        writeln!(script, "{export}").expect("writing to a string cannot fail");
    }
    for step in steps {
        if let Step::Commands { text, .. } = step {
            writeln!(script, "{text}\necho '{END_OF_STEP}'").expect("as above");
        }
    }
    script
}

/// The marked blocks. What commands print stands in a block of text right below them.
fn steps(readme: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in readme.split(MARK).skip(1) {
        let (title, rest) = part.split_once("-->\n").expect("a mark ends its line");
        let (text, rest) = block(rest).expect("a block follows each mark");
        let name = title.trim_start_matches(':').trim();
        if name.is_empty() {
            let below = rest.strip_prefix("\n```text\n").and_then(|_| block(&rest[1..]));
            let prints = below.map_or("", |(prints, _)| prints);
            steps.push(Step::Commands { text: text.to_owned(), prints: prints.to_owned() });
        } else {
            steps.push(Step::File { name: name.to_owned(), text: format!("{text}\n") });
        }
    }
    assert!(!steps.is_empty(), "no block is marked");
    steps
}

/// The block that `text` begins with, and what follows it.
fn block(text: &str) -> Option<(&str, &str)> {
    let (_, body) = text.strip_prefix("```")?.split_once('\n')?;
    body.split_once("\n```\n")
}
