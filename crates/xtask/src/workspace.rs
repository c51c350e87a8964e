//! Where things are, and how commands are run and reported.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

/// The option with which the server contains its pages, and is not built without them.
pub const EMBED: [&str; 2] = ["--features", "weir-server/embed"];

/// The tree we work in and the folders outside it.
#[derive(Debug)]
pub struct Workspace {
    pub root: PathBuf,
    /// Tools and other things worth keeping between checkouts.
    pub cache: PathBuf,
    /// Compiled output: below the cache unless the caller chose a place, so that a fresh checkout
    /// starts warm.
    pub target: PathBuf,
}

/// Whether generated files are written, or compared with what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Write,
    Check,
}

impl From<bool> for Mode {
    fn from(check: bool) -> Self {
        if check { Self::Check } else { Self::Write }
    }
}

impl Workspace {
    pub fn open() -> Result<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").context("run this as: cargo xtask")?;
        let root = Path::new(&manifest)
            .ancestors()
            .nth(2)
            .context("xtask is not at crates/xtask")?
            .to_owned();
        let cache = weir_local::cache_folder().context("neither XDG_CACHE_HOME nor HOME is set")?;
        let target = env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| cache.join("target"), |chosen| root.join(chosen));
        Ok(Self { root, cache, target })
    }

    pub fn path(&self, below_root: &str) -> PathBuf {
        self.root.join(below_root)
    }

    /// Cargo in our tree. The SQL macros use the committed descriptions, whatever database the
    /// caller's environment may name.
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("SQLX_OFFLINE", "true")
            .env_remove("DATABASE_URL")
            .env_remove("CARGO_MANIFEST_DIR");
        command
    }

    /// Held until the file returned is dropped.
    pub fn lock(&self, name: &str) -> Result<fs::File> {
        fs::create_dir_all(&self.target).context("create the output folder")?;
        let file = fs::File::create(self.target.join(format!("{name}.lock")))?;
        file.lock().context("wait for another run of this")?;
        Ok(file)
    }

    /// The server's program, built if it is not fresh. It reads the dashboard and the guide from their folders.
    pub fn build_server(&self) -> Result<PathBuf> {
        self.build_server_with(&[])
    }

    /// The same with the dashboard and the guide inside, as a release has them.
    pub fn build_whole_server(&self) -> Result<PathBuf> {
        self.build_server_with(&EMBED)
    }

    /// The same together with all tests, so that what both stand on is compiled once. Only a build of the dashboard needs `weir-bind`.
    pub fn build_all(&self) -> Result<PathBuf> {
        self.build_all_with(&EMBED)?;
        Ok(self.program())
    }

    /// The same with a server that lacks the pages, for the time until the dashboard is there.
    pub fn build_without_pages(&self) -> Result<()> {
        self.build_all_with(&[])
    }

    fn build_all_with(&self, features: &[&str]) -> Result<()> {
        let all = ["build", "--workspace", "--all-targets", "--exclude", "weir-bind"];
        call(self.cargo().args(all).args(features))
    }

    fn build_server_with(&self, features: &[&str]) -> Result<PathBuf> {
        call(self.cargo().args(["build", "--package", "weir-server"]).args(features))?;
        Ok(self.program())
    }

    /// The server's program, whether or not it was built.
    pub fn program(&self) -> PathBuf {
        self.target.join("debug").join("weir")
    }
}

/// Prints an error and what caused it.
pub fn explain(error: &anyhow::Error) {
    eprintln!("\nerror: {error}");
    for cause in error.chain().skip(1) {
        eprintln!("  because: {cause}");
    }
}

/// The folder, with nothing in it.
pub fn emptied(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("clear {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    Ok(folder.to_owned())
}

/// Fills a new folder, and puts it in the place of the former one, which stays if that fails.
pub fn replace_folder(folder: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let staged = emptied(&folder.with_added_extension("new"))?;
    fill(&staged)?;
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    fs::rename(&staged, folder).with_context(|| format!("put {} in its place", folder.display()))
}

/// Writes a file, whose folders need not exist.
pub fn write_file(file: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    fs::create_dir_all(file.parent().context("a file has a folder")?)?;
    fs::write(file, content).with_context(|| format!("write {}", file.display()))
}

/// Announces a step, runs it, says how long it took.
pub fn step<T>(what: &str, action: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("== {what}");
    let begun = Instant::now();
    let outcome = action().with_context(|| format!("step failed: {what}"))?;
    println!("   done in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(outcome)
}

/// Runs a command whose output goes to the terminal.
pub fn call(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| start(command))?;
    ensure!(status.success(), "{} ended with {status}", shown(command));
    Ok(())
}

/// Runs a command and returns its standard output; its standard error goes to the terminal.
pub fn capture(command: &mut Command) -> Result<String> {
    let output =
        command.stderr(std::process::Stdio::inherit()).output().with_context(|| start(command))?;
    ensure!(output.status.success(), "{} ended with {}", shown(command), output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// The program of that name on the path.
pub fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// Every file below `folder`, in a stable order; none if there is no such folder.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if !folder.is_dir() {
        return Ok(found);
    }
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files_below(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

pub fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension() == Some(OsStr::new(extension))
}

/// FNV-1a over any number of parts, as 16 hexadecimal digits: names files by content, and tells
/// whether inputs changed. Not for secrets.
pub fn fingerprint<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let hash = parts.into_iter().flatten().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn start(command: &Command) -> String {
    format!("start {}", shown(command))
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
