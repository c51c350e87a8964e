//! The links of a control plane to all regions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::{CancellationToken, DropGuard};
use weir_domain::regions::Regions;

use crate::link::{Link, LinkSettings};
use crate::message::Work;

/// The links to the registered regions.
#[derive(Debug)]
pub struct RegionLinks {
    settings: LinkSettings,
    stop: CancellationToken,
    /// `None` until the registry was read.
    regions: Mutex<Option<Vec<Linked>>>,
}

/// The link to one region.
#[derive(Debug, Clone)]
pub struct RegionLink {
    /// The name of the region.
    pub region: Arc<str>,
    /// Whether it is the home.
    pub is_home: bool,
    /// The link to its gates.
    pub link: Link,
}

#[derive(Debug)]
struct Linked {
    link: RegionLink,
    /// Ends the task of the link.
    _ends: DropGuard,
}

impl RegionLinks {
    /// No links. The tasks of later ones end with `stop`.
    pub fn new(settings: LinkSettings, stop: CancellationToken) -> Self {
        Self { settings, stop, regions: Mutex::default() }
    }

    /// Links exactly these regions.
    pub fn set(&self, regions: &Regions) -> Result<(), reqwest::Error> {
        let mut linked = self.linked();
        let mut before = linked.take().unwrap_or_default();
        let mut after = Vec::with_capacity(regions.all().len());
        let home = regions.home().map(|home| &home.name);
        for region in regions.all() {
            let known = before.iter().position(|known| *known.link.region == *region.name);
            let mut entry = match known {
                Some(at) => before.swap_remove(at),
                None => self.link(&region.name)?,
            };
            entry.link.is_home = home == Some(&region.name);
            entry.link.link.set_gates(&region.gates);
            after.push(entry);
        }
        *linked = Some(after);
        Ok(())
    }

    /// The links to all regions; empty if there are none, and `None` until the registry was read.
    pub fn all(&self) -> Option<Vec<RegionLink>> {
        let linked = self.linked();
        Some(linked.as_ref()?.iter().map(|linked| linked.link.clone()).collect())
    }

    /// The names of all regions; empty until the registry was read.
    pub fn names(&self) -> Vec<String> {
        let linked = self.linked();
        linked.iter().flatten().map(|linked| linked.link.region.to_string()).collect()
    }

    /// Announces a version of the rulebook to all regions. A region that does not answer finds it with its next poll.
    pub fn announce(&self, version: u64) {
        for RegionLink { link, .. } in self.all().unwrap_or_default() {
            tokio::spawn(async move { link.ask(Work::Announce(version), None).await });
        }
    }

    fn linked(&self) -> MutexGuard<'_, Option<Vec<Linked>>> {
        self.regions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn link(&self, region: &str) -> Result<Linked, reqwest::Error> {
        let stop = self.stop.child_token();
        let (link, calls) = Link::new(self.settings.clone(), stop.clone())?;
        tokio::spawn(calls);
        let link = RegionLink { region: region.into(), is_home: false, link };
        Ok(Linked { link, _ends: stop.drop_guard() })
    }
}
