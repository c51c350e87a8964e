//! Regions: data centres, each with gates and a Redis of its own. One Postgres primary serves all.
//!
//! The counters of rules with `reach: "world"` are in the Redis of one region, the home. Gates of other regions ask its gates.

use crate::names::{self, InvalidField};

/// The most regions of an installation.
pub const REGIONS_MAX: usize = 16;
/// The most gates of a region that other regions can ask.
pub const GATES_OF_REGION_MAX: usize = 16;
/// The most bytes of the address of a gate.
pub const GATE_ADDRESS_BYTES_MAX: usize = 255;

/// The regions of an installation, checked. Without regions, all gates share one Redis.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Regions {
    home: Option<usize>,
    regions: Vec<Region>,
}

/// A region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// The name, unique in the installation.
    pub name: String,
    /// The addresses of the internal listeners of its gates.
    pub gates: Vec<String>,
}

impl Regions {
    /// Checks the regions, and that one of them is the home, and reports everything that is wrong.
    pub fn parse(home: Option<&str>, regions: Vec<Region>) -> Result<Self, Vec<InvalidField>> {
        let mut wrong = Vec::new();
        if regions.len() > REGIONS_MAX {
            let reason = format!("must have at most {REGIONS_MAX} regions");
            wrong.push(InvalidField::new("regions", reason));
        }
        for (at, region) in regions.iter().enumerate() {
            if let Err(reason) = names::rule(&region.name) {
                wrong.push(InvalidField::new(format!("regions[{at}].name"), reason));
            } else if regions[..at].iter().any(|other| other.name == region.name) {
                let reason =
                    format!("must be unique: `{}` is the name of two regions", region.name);
                wrong.push(InvalidField::new(format!("regions[{at}].name"), reason));
            }
            if !(1..=GATES_OF_REGION_MAX).contains(&region.gates.len()) {
                let reason = format!("must have from 1 to {GATES_OF_REGION_MAX} addresses");
                wrong.push(InvalidField::new(format!("regions[{at}].gates"), reason));
            }
            for (gate, address) in region.gates.iter().enumerate() {
                if let Err(reason) = gate_address(address) {
                    wrong.push(InvalidField::new(format!("regions[{at}].gates[{gate}]"), reason));
                }
            }
        }
        let position = regions.iter().position(|region| Some(region.name.as_str()) == home);
        match (home, position) {
            (Some(name), None) => {
                let reason = format!("must be the name of one of the regions, not `{name}`");
                wrong.push(InvalidField::new("home", reason));
            }
            (None, _) if !regions.is_empty() => {
                wrong.push(InvalidField::new("home", "must be the name of one of the regions"));
            }
            _ => {}
        }
        if wrong.is_empty() { Ok(Self { home: position, regions }) } else { Err(wrong) }
    }

    /// The region that has the counters of rules that hold in all regions.
    pub fn home(&self) -> Option<&Region> {
        self.regions.get(self.home?)
    }

    /// All regions, in the order in which they were written.
    pub fn all(&self) -> &[Region] {
        &self.regions
    }

    /// Whether a gate of this region asks another region about rules that hold in all regions.
    pub fn is_home_elsewhere(&self, region: Option<&str>) -> bool {
        match (self.home(), region) {
            (Some(home), Some(region)) => home.name != region,
            _ => false,
        }
    }
}

/// Checks the address of a gate's internal listener: a scheme, a host and a port, and nothing else.
fn gate_address(address: &str) -> Result<(), String> {
    let reason = || {
        Err(format!(
            "must be an address such as `https://gate-1.eu.example.com:8443`, of at most {GATE_ADDRESS_BYTES_MAX} bytes; \
             `http` is permitted for loopback addresses only"
        ))
    };
    let plain = address.strip_prefix("http://");
    let Some(authority) = plain.or_else(|| address.strip_prefix("https://")) else {
        return reason();
    };
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "443"));
    let is_host = !host.is_empty()
        && (host.starts_with('[') == host.ends_with(']'))
        && host.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'[' | b']' | b':')
        });
    let is_loopback = matches!(host, "localhost" | "[::1]") || host.starts_with("127.");
    let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
    let fits = address.len() <= GATE_ADDRESS_BYTES_MAX;
    if fits && is_host && is_port && (plain.is_none() || is_loopback) { Ok(()) } else { reason() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(name: &str, gates: &[&str]) -> Region {
        Region { name: name.to_owned(), gates: gates.iter().map(|&gate| gate.to_owned()).collect() }
    }

    #[test]
    fn one_of_the_regions_is_the_home() {
        let both = || vec![region("eu", &["https://a:1"]), region("us", &["https://b:1"])];
        let regions = Regions::parse(Some("us"), both()).expect("regions");
        assert_eq!(regions.home().expect("a home").name, "us");
        assert!(regions.is_home_elsewhere(Some("eu")) && !regions.is_home_elsewhere(Some("us")));
        assert!(
            !regions.is_home_elsewhere(None) && !Regions::default().is_home_elsewhere(Some("eu"))
        );
        for (home, reason) in [
            (None, "must be the name of one of the regions"),
            (Some("asia"), "must be the name of one of the regions, not `asia`"),
        ] {
            let wrong = Regions::parse(home, both()).expect_err("no home");
            assert_eq!(wrong, [InvalidField::new("home", reason)]);
        }
        assert_eq!(Regions::parse(None, Vec::new()), Ok(Regions::default()));
    }

    #[test]
    fn wrong_names_and_addresses_are_named_by_their_places() {
        let many = vec!["https://a"; GATES_OF_REGION_MAX + 1];
        let regions = vec![
            region("eu", &["http://gate.example.com:8443", "http://127.0.0.1:1", "http://[::1]:1"]),
            region("eu", &[]),
            region("US", &many),
            region(
                "ok",
                &[
                    "https://user@host",
                    "https://host/path",
                    "ftp://host",
                    "https://",
                    "https://h:0",
                ],
            ),
        ];
        let wrong = Regions::parse(Some("eu"), regions).expect_err("wrong");
        let fields: Vec<_> = wrong.iter().map(|wrong| wrong.field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "regions[0].gates[0]",
                "regions[1].name",
                "regions[1].gates",
                "regions[2].name",
                "regions[2].gates",
                "regions[3].gates[0]",
                "regions[3].gates[1]",
                "regions[3].gates[2]",
                "regions[3].gates[3]",
                "regions[3].gates[4]",
            ]
        );
        let too_many =
            (0..=REGIONS_MAX).map(|n| region(&format!("r{n}"), &["https://a"])).collect();
        let wrong = Regions::parse(Some("r0"), too_many).expect_err("too many");
        assert_eq!(wrong, [InvalidField::new("regions", "must have at most 16 regions")]);
    }
}
