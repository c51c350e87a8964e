//! The folder into which `weir export` and `weir import` write. The names come from a server or a file, so nothing is
//! written outside of the folder, nor through a link in it.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use weir_domain::names;

/// A folder that exists and is no link.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

/// A name as a part of a path, if it has the form of such names: none has a slash or begins with a dot.
pub fn safe(form: impl Fn(&str) -> Result<(), &'static str>, name: &str) -> anyhow::Result<&str> {
    match form(name) {
        Ok(()) => Ok(name),
        Err(reason) => bail!("`{name}` cannot be a file: a name {reason}"),
    }
}

impl Folder {
    /// The folder that a person named, which can be a link.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(path).with_context(|| format!("create {}", path.display()))?;
        Ok(Self { path: path.to_owned() })
    }

    /// The folder in it for a namespace.
    pub fn of_namespace(&self, namespace: &str) -> anyhow::Result<Self> {
        let path = self.path.join(safe(names::namespace, namespace)?);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => created.with_context(|| format!("create {}", path.display()))?,
        }
        if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
            bail!("{} is a link or a file, and not a folder", path.display());
        }
        Ok(Self { path })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, in place of a former one. The text goes to a new file first, which then gets the name.
    pub fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let file = self.path.join(format!("{name}.yaml"));
        if fs::symlink_metadata(&file).is_ok_and(|found| !found.is_file()) {
            bail!("{} is a link or a folder, and is not overwritten", file.display());
        }
        let new = self.path.join(format!(".{name}.yaml.new"));
        let written = write_new(&new, text).and_then(|()| fs::rename(&new, &file));
        written.with_context(|| format!("write {}", file.display()))
    }
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn names_that_are_no_names_and_links_are_refused() {
        let scratch = weir_local::ScratchDir::create().expect("a folder");
        let (inside, outside) = (scratch.path().join("in"), scratch.path().join("out"));
        fs::create_dir(&outside).expect("new");
        let folder = Folder::create(&inside).expect("new");
        let absolute = outside.display().to_string();
        for name in ["..", "../out", &absolute, ".", "", "a/b", ".git", "A\u{1b}[2J"] {
            assert!(folder.of_namespace(name).is_err(), "{name}");
            assert!(safe(names::rule, name).is_err(), "{name}");
        }
        symlink(&outside, inside.join("linked")).expect("new");
        let refused = folder.of_namespace("linked").expect_err("a link").to_string();
        assert!(refused.contains("is a link or a file"), "{refused}");
        fs::write(outside.join("target"), "before").expect("new");
        symlink(outside.join("target"), inside.join("rule.yaml")).expect("new");
        symlink(outside.join("target"), inside.join(".new.yaml.new")).expect("new");
        let refused = folder.write("rule", "after").expect_err("a link").to_string();
        assert!(refused.contains("is not overwritten"), "{refused}");
        folder.write("new", "one").expect("a new file");
        folder.write("new", "two").expect("the same file");
        assert_eq!(fs::read_to_string(inside.join("new.yaml")).expect("written"), "two");
        assert_eq!(fs::read_to_string(outside.join("target")).expect("there"), "before");
        assert_eq!(fs::read_dir(&outside).expect("there").count(), 1);
    }
}
