//! The commands of the README and of the guide print exactly the output that these pages show.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use weir_local::{Launch, ScratchDir, StopSignal, WatchedProcess};

use crate::harness::{base_port, binary, folder, print, seconds, until};

/// One marked block of a page.
pub enum Step {
    /// A file to create.
    File { name: String, text: String },
    /// Commands for one shell, whose variables remain set, and their output.
    Commands { text: String, output: String, needs: Option<String> },
}

/// The pages that one reader follows, in this order, in one shell.
const TOUR: [&str; 3] = ["README.md", "docs/tour.md", "docs/api.md"];
/// Pages that need no other page, as those of the folder [`HOW`]: each has a shell of its own.
const ALONE: [&str; 2] = ["docs/how-much.md", "docs/move/envoy-ratelimit.md"];
const HOW: &str = "docs/how";
const MARK: &str = "<!-- tour";
const END_OF_STEP: &str = "=== end of step ===";

#[tokio::test]
async fn pages_show_the_output_of_their_commands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let scratch = ScratchDir::create().expect("a scratch folder");
    let folder = folder(scratch.path(), "tour");
    // Other accounts can pass through this folder, so the servers store their data in it.
    std::fs::create_dir(folder.join(".weir")).expect("a folder for its data");
    let dev = start(&folder).await;
    let alone = pages_alone(&root).into_iter().map(|page| vec![page]);
    for pages in [TOUR.map(PathBuf::from).to_vec()].into_iter().chain(alone) {
        let mut steps: Vec<Step> = pages
            .iter()
            .flat_map(|page| steps(&std::fs::read_to_string(root.join(page)).expect("the page")))
            .collect();
        steps.retain(runs_here);
        for step in &steps {
            if let Step::File { name, text } = step {
                std::fs::write(folder.join(name), text).expect("write an example");
            }
        }
        let mut shell = reader(&script(&dev.stdout(), &steps));
        shell.current_dir(&folder);
        let ended = tokio::task::spawn_blocking(move || shell.output()).await.expect("it ends");
        let printed = ended.expect("there is a bash").stdout;
        assert_shown(&String::from_utf8(printed).expect("the tour prints text"), &steps);
    }
}

fn pages_alone(root: &Path) -> Vec<PathBuf> {
    let how = std::fs::read_dir(root.join(HOW)).expect("the folder");
    let mut pages: Vec<_> = how.map(|entry| entry.expect("a page").path()).collect();
    assert!(!pages.is_empty(), "{HOW} has no page");
    pages.extend(ALONE.map(PathBuf::from));
    pages
}

fn assert_shown(printed: &str, steps: &[Step]) {
    let mut printed: VecDeque<&str> = printed.split(END_OF_STEP).map(str::trim).collect();
    for step in steps {
        if let Step::Commands { text, output, .. } = step {
            let printed = printed.pop_front().unwrap_or("(nothing: the shell had ended)");
            let same = printed.lines().count() == output.lines().count()
                && printed
                    .lines()
                    .zip(output.lines())
                    .all(|(printed, shown)| is_as_shown(printed, shown));
            assert!(same, "printed:\n{printed}\non the page:\n{output}\nafter:\n{text}");
        }
    }
}

#[test]
fn only_seconds_of_a_wait_can_differ_from_the_page() {
    assert!(is_as_shown("retry-after: 58", "retry-after: 60"));
    assert!(is_as_shown("wait 9 s because of a", "wait 10 s because of a"));
    for printed in ["retry-after: 50", "retry-after: 61", "x-retry-after: 60", "retry-after:"] {
        assert!(!is_as_shown(printed, "retry-after: 60"), "{printed}");
    }
    assert!(!is_as_shown("\"remaining\":1", "\"remaining\":2"));
}

#[test]
fn marked_blocks_are_found() {
    let text = "a\n<!-- tour -->\n```sh\nx\n```\n\n```text\n1\n```\n<!-- tour: f.py -->\n```python\np\n```\n<!-- tour if go -->\n```sh\ny\n```\nand\n```text\n2\n```\n";
    let found: Vec<String> = steps(text)
        .into_iter()
        .map(|step| match step {
            Step::File { name, text } => format!("{name}: {text}"),
            Step::Commands { text, output, needs } => format!("{text} -> {output} {needs:?}"),
        })
        .collect();
    assert_eq!(found, ["x -> 1 None", "f.py: p\n", "y ->  Some(\"go\")"]);
}

/// Whether a printed line is that of the page. On a busy machine, fewer seconds can be left of a wait.
fn is_as_shown(printed: &str, shown: &str) -> bool {
    const BEFORE_SECONDS: [&str; 4] = ["reset: ", ";t=", "retry-after: ", "wait "];
    const LATE_S: u64 = 5;
    let parts = |line, mark| -> Option<(&str, u64, &str)> {
        let (before, from): (&str, &str) = str::split_once(line, mark)?;
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        Some((before, from[..end].parse().ok()?, &from[end..]))
    };
    let differs_in_seconds = |mark| {
        let (Some(printed), Some(shown)) = (parts(printed, mark), parts(shown, mark)) else {
            return false;
        };
        let late = shown.1.checked_sub(printed.1);
        (printed.0, printed.2) == (shown.0, shown.2) && late.is_some_and(|late| late <= LATE_S)
    };
    printed == shown || BEFORE_SECONDS.into_iter().any(differs_in_seconds)
}

/// Whether the program that the commands need is installed. Only examples in other languages need one.
fn runs_here(step: &Step) -> bool {
    let Step::Commands { needs: Some(program), text, .. } = step else { return true };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !installed {
        print(&format!("tour: {program} is not installed, so this was not run: {text}"));
    }
    installed
}

/// Starts the processes of `cargo xtask dev`, and waits for the greeting.
async fn start(folder: &Path) -> WatchedProcess {
    let launch = Launch::new(binary(), folder, &folder.join("log"))
        .args(["dev", "--redis-budget-ms", "3000"])
        .args(["--base-port", &base_port().to_string()])
        .stdout(&folder.join("said"))
        .stop_by(StopSignal::Interrupt, seconds(30));
    let dev = WatchedProcess::spawn(launch).expect("start weir dev");
    until(seconds(60), "weir dev greets", async || {
        assert_eq!(dev.exit_code(), None, "weir dev ended: {}", dev.log_tail());
        dev.stdout().contains("Ctrl-C stops")
    })
    .await;
    dev
}

/// The script of a reader: the exports of the greeting, then every block. On a busy machine the reader waits longer, and
/// Redis is paused for longer. A second installation waits longer for Redis too, and uses free ports.
fn script(greeting: &str, steps: &[Step]) -> String {
    let exports = greeting.lines().map(str::trim).filter(|line| line.starts_with("export "));
    let second = format!("--redis-budget-ms 3000 --base-port {}", base_port());
    let mut script = String::from("exec 2>&1\n");
    for export in exports {
        writeln!(script, "{export}").expect("writing to a string cannot fail");
    }
    for step in steps {
        if let Step::Commands { text, .. } = step {
            let text = text
                .replace("CLIENT PAUSE 5000 ", "CLIENT PAUSE 20000 ")
                .replace("sleep 8;", "sleep 23;")
                .replace("sleep 1;", "sleep 4;")
                .replace("--base-port 9080", &second);
            writeln!(script, "{text}\necho '{END_OF_STEP}'").expect("as above");
        }
    }
    script
}

/// The marked blocks. The output of commands is in the block of text right after them.
pub fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in page.split(MARK).skip(1) {
        let (title, rest) = part.split_once("-->\n").expect("a mark ends its line");
        let (text, rest) = block(rest).expect("a block follows each mark");
        if let Some(name) = title.strip_prefix(':') {
            let name = name.trim().to_owned();
            steps.push(Step::File { name, text: format!("{text}\n") });
            continue;
        }
        let below = rest.strip_prefix("\n```text\n").and_then(|_| block(&rest[1..]));
        steps.push(Step::Commands {
            text: text.to_owned(),
            output: below.map_or("", |(output, _)| output).to_owned(),
            needs: title.trim().strip_prefix("if ").map(str::to_owned),
        });
    }
    assert!(!steps.is_empty(), "no block is marked");
    steps
}

/// A shell that finds the binary under test as `weir`, and ends at the first command that fails.
pub fn shell(script: &str) -> Command {
    bash(&["-euxo", "pipefail", "-c", script])
}

/// The same, which continues after a command that fails: a denied check is one.
fn reader(script: &str) -> Command {
    bash(&["-c", script])
}

fn bash(args: &[&str]) -> Command {
    let programs = binary().parent().expect("a program is in a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path)));
    let mut shell = Command::new("bash");
    shell.args(args).stdin(Stdio::null());
    shell.env("PATH", path.expect("folders without colons"));
    shell
}

/// The block at the beginning of `text`, and the text after it.
fn block(text: &str) -> Option<(&str, &str)> {
    let (_, body) = text.strip_prefix("```")?.split_once('\n')?;
    body.split_once("\n```\n")
}
