//! Starts both servers in the given folder, prints their process ids and runs until it is killed. The test of a crashed owner
//! runs this program.

use std::io::Write as _;
use std::path::Path;

use weir_local::{Postgres, PostgresOptions, Redis, RedisOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("a folder is needed")?;
    let postgres = Postgres::start(PostgresOptions {
        data_dir: Path::new(&folder).join("postgres"),
        durable: true,
    })?;
    let redis = Redis::start(RedisOptions {
        data_dir: Path::new(&folder).join("redis"),
        settings: Vec::new(),
    })?;
    let pids = (postgres.pid(), redis.pid());
    let (Some(postgres), Some(redis)) = pids else {
        return Err("a server has ended".into());
    };
    writeln!(std::io::stdout(), "{postgres} {redis}")?;
    loop {
        std::thread::park();
    }
}
