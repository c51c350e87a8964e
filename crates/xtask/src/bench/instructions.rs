//! `cargo xtask bench instructions`: how many instructions the pure parts of a check execute, which
//! other work on the machine cannot blur, against the committed budget.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::workspace::{Mode, Workspace, call, on_path};

/// Compares with the budget, or writes a new one.
pub fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    if on_path("valgrind").is_none() {
        println!("   not counted: valgrind is not installed");
        return Ok(());
    }
    let program = build(workspace)?;
    let file = workspace.path(BUDGET);
    if mode == Mode::Write {
        let lines = PARTS.iter().map(|part| Ok(format!("{part} {}\n", count(&program, part)?)));
        let text: String = lines.collect::<Result<_>>()?;
        print!("{text}");
        return fs::write(file, text).context("write the budget");
    }
    let budget = fs::read_to_string(&file).context("read the budget")?;
    let mut over = Vec::new();
    for part in PARTS {
        let allowed = budgeted(&budget, part).with_context(|| format!("no budget for {part}"))?;
        let counted = count(&program, part)?;
        let percent = counted.saturating_mul(1000) / allowed.max(1);
        println!("   {part}: {counted}, {}.{} % of its budget", percent / 10, percent % 10);
        if percent > 1000 + TOLERANCE_PER_MILLE {
            over.push(part);
        }
    }
    ensure!(over.is_empty(), "over budget: {}. {HINT}", over.join(", "));
    Ok(())
}

/// The pure parts as a program, optimised as the server is.
pub fn build(workspace: &Workspace) -> Result<PathBuf> {
    let args = ["build", "--release", "--quiet", "--package", "weir-wire", "--example", "parts"];
    call(workspace.cargo().args(args))?;
    Ok(workspace.target.join("release").join("examples").join("parts"))
}

const BUDGET: &str = "crates/xtask/instructions.txt";
const PARTS: [&str; 4] = ["parse", "caller", "match", "respond"];
const TIMES: u64 = 100;
const TOLERANCE_PER_MILLE: u64 = 30;
const HINT: &str = "If that is meant: `cargo xtask bench instructions --write`";

/// Instructions of one execution of a part.
fn count(program: &Path, part: &str) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect=*{part}_part*"))
        .arg(program)
        .args([part, &TIMES.to_string()])
        .output()
        .context("start valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    match collected.and_then(|(_, count)| count.trim().parse::<u64>().ok()) {
        Some(all) if all > 0 => Ok(all / TIMES),
        _ => bail!("callgrind counted nothing in {part}: {said}"),
    }
}

fn budgeted(budget: &str, part: &str) -> Option<u64> {
    budget.lines().find_map(|line| line.strip_prefix(part)?.trim().parse().ok())
}
