//! The files of a set.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use weir_manifest::rule_set::{RuleSet, SourceFile};

use super::output::{OutputArgs, print_findings};

/// The most bytes of a file.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The most bytes of all files of a set.
const SET_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The most files of a set. An export of as many objects as a set can have is less: a file for each rule, for its overrides,
/// and for each profile.
const FILES_MAX: usize = 3_000;

/// The files of a set.
#[derive(Debug, Args)]
pub struct FilesArgs {
    /// File with rules, or folder whose .yaml and .yml files are read; can be repeated
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
            if path.is_dir() {
                let root =
                    path.canonicalize().with_context(|| format!("read {}", path.display()))?;
                collect(path, &root, &mut paths)?;
            } else {
                paths.push(path.clone());
            }
        }
        paths.sort();
        paths.dedup();
        if paths.is_empty() {
            bail!("there is no .yaml or .yml file in the folder");
        }
        let mut sources = Vec::with_capacity(paths.len());
        let mut bytes = 0;
        for path in &paths {
            let source = source(path)?;
            bytes += source.text.len();
            if bytes > SET_BYTES_MAX {
                bail!("the files exceed {SET_BYTES_MAX} bytes in total");
            }
            sources.push(source);
        }
        Ok(sources)
    }
}

/// Adds the files of a folder and of those in it. Names that begin with a dot are left out. A link is followed only to a place
/// in `root`: the author of a repository must not choose a file of the machine that checks it.
fn collect(folder: &Path, root: &Path, paths: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = folder.read_dir().with_context(|| format!("read {}", folder.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("read {}", folder.display()))?;
        let path = entry.path();
        let kind = entry.file_type()?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let extension = path.extension().and_then(|extension| extension.to_str());
        if kind.is_dir() && !is_hidden {
            collect(&path, root, paths)?;
        } else if !kind.is_dir() && !is_hidden && matches!(extension, Some("yaml" | "yml")) {
            if kind.is_symlink() {
                let target =
                    path.canonicalize().with_context(|| format!("read {}", path.display()))?;
                if !target.starts_with(root) {
                    let name = path.display();
                    bail!("{name} is a link out of {}, which is not followed", root.display());
                }
            }
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
    // To open a pipe would wait for its writer.
    if !path.metadata().with_context(|| format!("read {name}"))?.is_file() {
        bail!("{name} is not a regular file");
    }
    let text = read(path, FILE_BYTES_MAX)?;
    Ok(SourceFile { name, text })
}

/// Reads a text of at most this number of bytes, which are counted as they are read.
pub fn read(path: &Path, bytes_max: u64) -> anyhow::Result<String> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("read {name}"))?;
    let mut text = String::new();
    let read = file.take(bytes_max + 1).read_to_string(&mut text);
    let bytes = read.with_context(|| format!("read {name}"))?;
    if bytes as u64 > bytes_max {
        bail!("{name} has more than {bytes_max} bytes");
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
