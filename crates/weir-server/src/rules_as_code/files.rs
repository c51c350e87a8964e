//! The files of a set.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use weir_manifest::rule_set::{RuleSet, SourceFile};

use super::output::{OutputArgs, print_findings};

/// The most bytes of a file.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The most files of a set. An export of as many objects as a set can have is less: a file for each rule, for its overrides,
/// and for each profile.
const FILES_MAX: usize = 3_000;

/// The files of a set.
#[derive(Debug, Args)]
pub struct FilesArgs {
    /// A file with rules, or a folder of which all .yaml and .yml files are read; can be given several times
    #[arg(long = "file", short, required = true, value_name = "PATH")]
    files: Vec<PathBuf>,
}

impl FilesArgs {
    /// Reads the rules of all files. If they have errors, prints these and returns `None`.
    pub fn read(&self, output: &OutputArgs) -> anyhow::Result<Option<RuleSet>> {
        let files = self.sources()?;
        match RuleSet::read(&files) {
            Ok(set) => Ok(Some(set)),
            Err(errors) => {
                print_findings(output, &errors, &[])?;
                Ok(None)
            }
        }
    }

    /// The content of all files, in the order of their paths.
    fn sources(&self) -> anyhow::Result<Vec<SourceFile>> {
        let mut paths = Vec::new();
        for path in &self.files {
            if path.is_dir() { collect(path, &mut paths)? } else { paths.push(path.clone()) }
        }
        paths.sort();
        paths.dedup();
        if paths.is_empty() {
            bail!("there is no .yaml or .yml file in the folder");
        }
        paths.iter().map(|path| source(path)).collect()
    }
}

/// Adds the files of a folder and of those in it. Names that begin with a dot are left out.
fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = folder.read_dir().with_context(|| format!("read {}", folder.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("read {}", folder.display()))?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let extension = path.extension().and_then(|extension| extension.to_str());
        if kind.is_dir() && !is_hidden {
            collect(&path, paths)?;
        } else if !kind.is_dir() && !is_hidden && matches!(extension, Some("yaml" | "yml")) {
            paths.push(path);
        }
        if paths.len() > FILES_MAX {
            bail!("{} holds more than {FILES_MAX} files", folder.display());
        }
    }
    Ok(())
}

/// Reads a file.
pub fn source(path: &Path) -> anyhow::Result<SourceFile> {
    let name = path.display().to_string();
    let bytes = path.metadata().with_context(|| format!("read {name}"))?.len();
    if bytes > FILE_BYTES_MAX {
        bail!("{name} has {bytes} bytes; {FILE_BYTES_MAX} is the most");
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("read {name}"))?;
    Ok(SourceFile { name, text })
}
