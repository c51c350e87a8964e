//! Statistics of a gate that stopped while Postgres was away: a file in its state directory. The next run writes them to
//! Postgres under the id of the run that counted them.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_domain::id::GateId;
use weir_domain::time::Timestamp;
use weir_store::{CustomerCounts, CustomerDayRow, DropCount, TallyCounts, TallyRow};

use super::customers::CustomerBatch;

/// The most runs in the file; the oldest are dropped.
const RUNS_MAX: usize = 16;

/// The file.
#[derive(Debug)]
pub(super) struct LeftoverFile(PathBuf);

/// The counts that one run could not write. Busiest subjects, denials and samples are not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leftover {
    pub(super) gate_id: GateId,
    pub(super) boot_id: u128,
    pub(super) region: Option<String>,
    pub(super) rows: Vec<TallyRow>,
    pub(super) unrecorded: Vec<DropCount>,
    pub(super) customers: Vec<CustomerBatch>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredRun {
    gate_id: String,
    boot_id: String,
    /// Absent in files of earlier releases.
    #[serde(default)]
    region: Option<String>,
    rows: Vec<StoredRow>,
    /// Minutes in milliseconds since 1970, and the number of decisions of each that were not recorded.
    unrecorded: Vec<(i64, u64)>,
    /// Batches of counts of customers with their numbers; absent in files of earlier releases.
    #[serde(default)]
    customers: Vec<(u64, Vec<StoredCustomerDay>)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredCustomerDay {
    tenant_id: String,
    customer: String,
    day: i32,
    rule_id: Option<String>,
    allowed: u64,
    denied: u64,
    units: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredRow {
    tenant_id: String,
    rule_id: Option<String>,
    minute_ms: i64,
    namespace: String,
    /// The numbers of allowed, denied, shadow-denied, degraded and refunded requests.
    counts: [u64; 5],
    /// The number of records; absent in files of earlier releases.
    #[serde(default)]
    recorded: u64,
}

impl LeftoverFile {
    /// The file of a state directory.
    pub(super) fn new(state_dir: &Path) -> Self {
        Self(state_dir.join("statistics"))
    }

    /// Reads the counts of earlier runs. A file that cannot be read is an error.
    pub(super) fn read(&self) -> io::Result<Vec<Leftover>> {
        let text = match fs::read(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read?,
        };
        let runs: Vec<StoredRun> = serde_json::from_slice(&text)?;
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "an id cannot be read");
        runs.into_iter().map(|run| run.restored().ok_or_else(damaged)).collect()
    }

    /// Replaces the file, or removes it if there are no runs.
    pub(super) fn write(&self, runs: &[Leftover]) -> io::Result<()> {
        if runs.is_empty() {
            return match fs::remove_file(&self.0) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let newest = &runs[runs.len().saturating_sub(RUNS_MAX)..];
        let stored: Vec<StoredRun> = newest.iter().map(StoredRun::of).collect();
        let new = self.0.with_extension("new");
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(&stored)?)?;
        file.sync_all()?;
        fs::rename(&new, &self.0)
    }
}

impl StoredRun {
    fn of(run: &Leftover) -> Self {
        let row = |row: &TallyRow| {
            let TallyCounts { allowed, denied, shadow_denied, degraded, refunded, recorded } =
                row.counts;
            StoredRow {
                tenant_id: row.tenant_id.to_string(),
                rule_id: row.rule_id.map(|id| id.to_string()),
                minute_ms: row.minute.as_millis(),
                namespace: row.namespace.clone(),
                counts: [allowed, denied, shadow_denied, degraded, refunded],
                recorded,
            }
        };
        let minute = |drop: &DropCount| (drop.minute.as_millis(), drop.dropped);
        Self {
            gate_id: run.gate_id.to_string(),
            boot_id: run.boot_id.to_string(),
            region: run.region.clone(),
            rows: run.rows.iter().map(row).collect(),
            unrecorded: run.unrecorded.iter().map(minute).collect(),
            customers: run.customers.iter().map(stored_batch).collect(),
        }
    }

    fn restored(self) -> Option<Leftover> {
        let row = |row: StoredRow| {
            let ([allowed, denied, shadow_denied, degraded, refunded], recorded) =
                (row.counts, row.recorded);
            let rule_id = row.rule_id.map(|id| id.parse()).transpose().ok()?;
            Some(TallyRow {
                tenant_id: row.tenant_id.parse().ok()?,
                rule_id,
                minute: Timestamp::from_millis(row.minute_ms),
                namespace: row.namespace,
                counts: TallyCounts {
                    allowed,
                    denied,
                    shadow_denied,
                    degraded,
                    refunded,
                    recorded,
                },
            })
        };
        let minute =
            |(at_ms, dropped)| DropCount { minute: Timestamp::from_millis(at_ms), dropped };
        Some(Leftover {
            gate_id: self.gate_id.parse().ok()?,
            boot_id: self.boot_id.parse().ok()?,
            region: self.region,
            rows: self.rows.into_iter().map(row).collect::<Option<_>>()?,
            unrecorded: self.unrecorded.into_iter().map(minute).collect(),
            customers: self.customers.into_iter().map(restored_batch).collect::<Option<_>>()?,
        })
    }
}

fn stored_batch(batch: &CustomerBatch) -> (u64, Vec<StoredCustomerDay>) {
    let rows = batch.rows.iter().map(|row| StoredCustomerDay {
        tenant_id: row.tenant_id.to_string(),
        customer: row.customer.clone(),
        day: row.day,
        rule_id: row.rule_id.map(|id| id.to_string()),
        allowed: row.counts.allowed,
        denied: row.counts.denied,
        units: row.counts.units,
    });
    (batch.number, rows.collect())
}

fn restored_batch((number, rows): (u64, Vec<StoredCustomerDay>)) -> Option<CustomerBatch> {
    let row = |row: StoredCustomerDay| {
        let StoredCustomerDay { customer, day, allowed, denied, units, .. } = row;
        Some(CustomerDayRow {
            tenant_id: row.tenant_id.parse().ok()?,
            customer,
            day,
            rule_id: row.rule_id.map(|id| id.parse()).transpose().ok()?,
            counts: CustomerCounts { allowed, denied, units },
        })
    };
    Some(CustomerBatch { number, rows: rows.into_iter().map(row).collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_runs_are_read_unchanged_and_an_empty_list_removes_the_file() {
        let folder = weir_local::shared::scratch().path().join("leftover");
        fs::create_dir_all(&folder).unwrap();
        let file = LeftoverFile::new(&folder);
        assert_eq!(file.read().unwrap(), []);
        let run = |boot_id| Leftover {
            gate_id: GateId::from_u128(7),
            boot_id,
            region: Some("eu".to_owned()),
            rows: vec![TallyRow {
                tenant_id: weir_domain::id::TenantId::from_u128(1),
                rule_id: Some(weir_domain::id::RuleId::from_u128(2)),
                minute: Timestamp::from_millis(60_000),
                namespace: "api".to_owned(),
                counts: TallyCounts {
                    allowed: 1,
                    denied: 2,
                    shadow_denied: 3,
                    degraded: 4,
                    refunded: 5,
                    recorded: 6,
                },
            }],
            unrecorded: vec![DropCount { minute: Timestamp::from_millis(60_000), dropped: 9 }],
            customers: vec![CustomerBatch {
                number: 3,
                rows: vec![CustomerDayRow {
                    tenant_id: weir_domain::id::TenantId::from_u128(1),
                    customer: "acme".to_owned(),
                    day: 20_000,
                    rule_id: None,
                    counts: CustomerCounts { allowed: 1, denied: 2, units: -3 },
                }],
            }],
        };
        let runs: Vec<_> = (0..20).map(run).collect();
        file.write(&runs).unwrap();
        assert_eq!(file.read().unwrap(), runs[4..]);
        file.write(&[]).unwrap();
        assert_eq!(file.read().unwrap(), []);
        fs::write(folder.join("statistics"), "damaged").unwrap();
        assert!(file.read().is_err());
    }
}
