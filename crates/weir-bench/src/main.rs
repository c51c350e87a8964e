//! Measures Weir, the ceiling of its HTTP setup, and plain limiters, on one machine.
//!
//! Reading order: `variants` (what is compared), `compare` (rounds), `closed` and `steady` (the two
//! kinds of load), `usage` (processor time), `report` (the table); `scale`, `fairness` and `writes`
//! measure start-up with much data and the isolation of tenants, `distant` a slow way to Redis, `regions` limits that hold in two
//! regions. `fixture` and `service` start the measured processes.

#![expect(clippy::print_stdout, reason = "a command-line tool talks to its user")]

mod closed;
mod compare;
mod distant;
mod fairness;
mod fixture;
mod grpc;
mod numbers;
mod plain;
mod redis_servers;
mod regions;
mod report;
mod scale;
mod service;
mod steady;
mod turns;
mod usage;
mod variants;
mod writes;

use clap::{Parser, Subcommand};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Tool::parse().task {
        Task::Compare(args) => compare::run(args).await,
        Task::Scale(args) => scale::run(args).await,
        Task::Fairness(args) => fairness::run(args).await,
        Task::Writes(args) => writes::run(args).await,
        Task::Distant(args) => distant::run(args).await,
        Task::Regions(args) => regions::run(args).await,
        Task::Plain(args) => plain::run(args).await,
    }
}

#[derive(Debug, Parser)]
struct Tool {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Runs the variants side by side and writes the table
    Compare(compare::CompareArgs),
    /// Measures start-up, memory and changes with much data
    Scale(scale::ScaleArgs),
    /// Measures what a tenant notices of another one that asks as much as the API permits
    Fairness(fairness::FairnessArgs),
    /// Measures what a tenant notices of another one that writes overrides in bulk
    Writes(writes::WritesArgs),
    /// Measures how many checks are degraded while Redis is some milliseconds away
    Distant(distant::DistantArgs),
    /// Measures rules of all regions outside the home, and counts admissions while the way to it is cut
    Regions(regions::RegionsArgs),
    /// Serves the plain limiter that Weir is compared with
    Plain(plain::PlainArgs),
}
