//! The processor time of processes, and Redis's own statistics of its commands.

use std::fs;

use anyhow::{Context as _, Result};
use redis::aio::MultiplexedConnection;
use weir_local::Redis;

/// The counters at one moment.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    /// Processor time of the service, in microseconds.
    pub service_us: u64,
    /// Processor time of Redis, in microseconds.
    pub redis_us: u64,
    /// Script calls that Redis answered.
    pub calls: u64,
    /// The time that Redis spent in these scripts, in microseconds.
    pub script_us: u64,
}

/// Reads the statistics of the primaries of Redis.
#[derive(Debug)]
pub struct RedisUsage {
    primaries: Vec<PrimaryUsage>,
}

#[derive(Debug)]
struct PrimaryUsage {
    connection: MultiplexedConnection,
    pid: u32,
}

impl RedisUsage {
    pub async fn new(primaries: &[Redis]) -> Result<Self> {
        let mut connected = Vec::new();
        for primary in primaries {
            let client = redis::Client::open(primary.url())?;
            let connection = client.get_multiplexed_async_connection().await?;
            let pid = primary.pid().context("a primary does not run")?;
            connected.push(PrimaryUsage { connection, pid });
        }
        Ok(Self { primaries: connected })
    }

    /// Reads the present counters of all primaries and of the process `service_pid`.
    pub async fn read(&mut self, service_pid: u32) -> Result<Usage> {
        let mut usage = Usage { service_us: processor_us(service_pid)?, ..Usage::default() };
        for PrimaryUsage { connection, pid } in &mut self.primaries {
            let stats: String =
                redis::cmd("INFO").arg("commandstats").query_async(connection).await?;
            let (calls, script_us) = scripts(&stats);
            usage.redis_us += processor_us(*pid)?;
            usage.calls += calls;
            usage.script_us += script_us;
        }
        Ok(usage)
    }
}

impl Usage {
    /// The difference from an earlier reading.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            service_us: self.service_us.saturating_sub(before.service_us),
            redis_us: self.redis_us.saturating_sub(before.redis_us),
            calls: self.calls.saturating_sub(before.calls),
            script_us: self.script_us.saturating_sub(before.script_us),
        }
    }
}

/// The user and system time of a process and its threads, in microseconds.
pub fn processor_us(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    ticks(&text).map(|ticks| ticks * US_PER_TICK).with_context(|| format!("understand {path}"))
}

/// The resident memory of a process, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Resident {
    pub now_bytes: u64,
    /// The most since the process started.
    pub peak_bytes: u64,
}

/// Reads the resident memory of a process.
pub fn resident(pid: u32) -> Result<Resident> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    let bytes = |name| kibibytes(&text, name).map(|kib| kib * 1024);
    let found = bytes("VmRSS:").zip(bytes("VmHWM:"));
    let (now_bytes, peak_bytes) = found.with_context(|| format!("understand {path}"))?;
    Ok(Resident { now_bytes, peak_bytes })
}

/// The cores and the memory of this machine.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let gibibytes = kibibytes(&memory, "MemTotal:").unwrap_or(0).div_ceil(1024 * 1024);
    format!("{cores} cores, {gibibytes} GiB of memory")
}

/// The length of a clock tick of Linux, which is a hundredth of a second.
const US_PER_TICK: u64 = 10_000;

fn ticks(stat: &str) -> Option<u64> {
    // The name in brackets can contain spaces.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The number of script calls and the time in them, from `INFO commandstats`.
fn scripts(stats: &str) -> (u64, u64) {
    let field = |line: &str, name: &str| {
        line.split([',', ':']).find_map(|field| field.strip_prefix(name)?.parse::<u64>().ok())
    };
    let lines = stats.lines().filter(|line| {
        ["evalsha", "eval", "fcall"]
            .iter()
            .any(|command| line.starts_with(&format!("cmdstat_{command}:")))
    });
    lines.fold((0, 0), |(calls, us), line| {
        (calls + field(line, "calls=").unwrap_or(0), us + field(line, "usec=").unwrap_or(0))
    })
}

#[cfg(test)]
mod tests {
    use super::{scripts, ticks};

    #[test]
    fn counters_are_read() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4 5 6 7 8 120 30 0 0 20 0 3 0";
        assert_eq!(ticks(stat), Some(150));
        let stats = "# Commandstats\r\ncmdstat_get:calls=9,usec=9,usec_per_call=1.00\r\n\
            cmdstat_evalsha:calls=10,usec=41,usec_per_call=4.10,rejected_calls=0\r\n\
            cmdstat_eval:calls=1,usec=5,usec_per_call=5.00\r\n";
        assert_eq!(scripts(stats), (11, 46));
    }
}
