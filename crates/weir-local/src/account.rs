//! The account that a server runs as. Postgres refuses to run as root, and Redis should not run as root. As root, both run as
//! an account without other property.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use crate::LocalError;

/// The account that a process runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Account {
    /// The account of this process.
    Ours,
    /// Another account, which only root can choose.
    Other { name: String, uid: u32, gid: u32 },
}

impl Account {
    /// The account for servers: that of this process, unless it is root.
    pub fn for_servers() -> Result<Self, LocalError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Ours);
        }
        ["postgres", "nobody"].into_iter().find_map(named).ok_or(LocalError::NoAccount)
    }

    pub(crate) fn uid(&self) -> u32 {
        match self {
            Self::Ours => rustix::process::geteuid().as_raw(),
            Self::Other { uid, .. } => *uid,
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Ours => format!("{}", self.uid()),
            Self::Other { name, .. } => name.clone(),
        }
    }

    /// Makes `command` run as this account, without the supplementary groups of this process.
    pub(crate) fn apply(&self, command: &mut Command) {
        if let Self::Other { uid, gid, .. } = self {
            command.uid(*uid).gid(*gid);
        }
    }
}

fn named(name: &str) -> Option<Account> {
    let number = |flag: &str| -> Option<u32> {
        let output = Command::new("id").args([flag, name]).stderr(Stdio::null()).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    let (uid, gid) = (number("-u")?, number("-g")?);
    (uid != 0).then(|| Account::Other { name: name.to_owned(), uid, gid })
}
