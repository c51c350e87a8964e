//! Everything a contributor or a CI machine runs. `cargo xtask --help` lists the commands.
//!
//! Reading order: `workspace` (directories, and how commands run), then one file for each command.

#![expect(clippy::print_stdout, reason = "a command-line tool talks to its user")]

mod bench;
mod build_paths;
mod chart;
mod checkers;
mod clients;
mod compress;
mod dashboard;
mod dependencies;
mod dev;
mod guide;
mod image;
mod layers;
mod openapi;
mod pages;
mod pictures;
mod protos;
mod quick;
mod reference;
mod release;
mod sbom;
mod setup;
mod sqlx;
mod test;
mod tidy;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::setup::Purpose;
use crate::workspace::{Workspace, explain};

fn main() -> ExitCode {
    let tool = Tool::parse();
    match Workspace::open().and_then(|workspace| run(&workspace, tool.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            explain(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(workspace: &Workspace, task: Task) -> anyhow::Result<()> {
    match task {
        Task::Setup { purpose } => setup::run(workspace, purpose),
        Task::Dev { args } => dev::run(workspace, &args),
        Task::Test => test::run(workspace),
        Task::Quick => quick::run(workspace),
        Task::Dashboard { draft } => {
            guide::run(workspace)?;
            if draft { dashboard::draft(workspace) } else { dashboard::run(workspace) }
        }
        Task::Guide { pictures } => {
            if pictures {
                guide::draw(workspace)?;
            }
            guide::run(workspace)
        }
        Task::Bench { args } => bench::run(workspace, &args),
        Task::Pictures { args } => pictures::run(workspace, &args),
        Task::Layers => layers::run(workspace),
        Task::Tidy { words: false } => tidy::run(workspace),
        Task::Tidy { words: true } => tidy::words(workspace),
        Task::Dependencies => dependencies::run(workspace),
        Task::Chart => chart::run(workspace),
        Task::Clients { languages } => {
            clients::run(workspace, &workspace.build_server()?, &languages)
        }
        Task::Image { inside: None } => {
            build_pages(workspace)?;
            image::run(workspace, &workspace.build_whole_server()?)
        }
        Task::Image { inside: Some(scratch) } => image::run_inside(workspace, &scratch),
        Task::Release => {
            build_pages(workspace)?;
            release::run(workspace)
        }
        Task::Sbom { out } => sbom::run(workspace, out.as_deref()),
        Task::Openapi { check } => {
            openapi::run(workspace, &workspace.build_server()?, check.into())
        }
        Task::Protos { check } => protos::run(workspace, check.into()),
        Task::Sqlx { check } => sqlx::run(workspace, check.into()),
    }
}

/// Builds the pages that the server embeds.
fn build_pages(workspace: &Workspace) -> anyhow::Result<()> {
    guide::run(workspace)?;
    dashboard::run(workspace)
}

/// Builds, runs and checks Weir.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Tool {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Installs missing tools on this machine
    Setup {
        /// The purpose of the machine
        #[arg(long = "for", value_enum, default_value_t = Purpose::Dev)]
        purpose: Purpose,
    },
    /// Starts Weir with its own Postgres and Redis, and the dashboard
    Dev {
        /// Passed on to `weir dev`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Runs every check and every test
    Test,
    /// Runs the fast checks, and the lints and unit tests of the crates that changed and of those that use them
    Quick,
    /// Builds the dashboard into frontend/dist, and the guide into docs/dist
    Dashboard {
        /// Build a large draft quickly; a running debug build of the server serves it immediately
        #[arg(long)]
        draft: bool,
    },
    /// Builds the guide into docs/dist and checks the links of every page; builds the API reference
    Guide {
        /// Redraw its pictures first
        #[arg(long)]
        pictures: bool,
    },
    /// Measures Weir beside its ceiling and other limiters, and writes docs/performance.md
    Bench {
        /// `scale`, `instructions` (`--write` for a new budget) or `compare`, and what it takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Takes the pictures of the dashboard for the README and the guide, from the server and the dashboard that are built
    Pictures {
        /// Passed on to `weir dev`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Checks that dependencies point down
    Layers,
    /// Checks the text of the sources
    Tidy {
        /// Lists the retired words of the sources instead
        #[arg(long)]
        words: bool,
    },
    /// Checks licences, sources and banned libraries as deny.toml states them
    Dependencies,
    /// Renders the Helm chart with many values and validates all of it
    Chart,
    /// Tests, builds and installs the client libraries
    Clients {
        /// `typescript`, `python`, `go`, `rust`, `generated`, `examples`; all of them if none is named
        languages: Vec<String>,
    },
    /// Builds the container images around the server of the tests, and runs them until a check is answered
    Image {
        /// Only the second half, in its own namespaces
        #[arg(long, hide = true)]
        inside: Option<PathBuf>,
    },
    /// Builds the server for a release, with the dashboard and the guide, without paths of this machine in its binary
    Release,
    /// Prints the components of the server's binary as `CycloneDX`
    Sbom {
        /// Write it into this file instead
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Writes the API documents into openapi/
    Openapi {
        /// Only compare, and fail on a difference
        #[arg(long)]
        check: bool,
    },
    /// Generates the code of Envoy's rate limit service
    Protos {
        /// Only compare, and fail on a difference
        #[arg(long)]
        check: bool,
    },
    /// Writes the query data for builds without a database into .sqlx/
    Sqlx {
        /// Only compare, and fail on a difference
        #[arg(long)]
        check: bool,
    },
}
