//! The binary `weir`: one program with a command for each role.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

mod audit;
mod capacity;
mod certificate;
mod check_redis;
mod config;
mod dashboard;
mod decisions;
mod derived_keys;
mod descriptors;
mod dev;
mod edge;
mod embedded;
mod guide;
mod health;
mod lifecycle;
mod migrate;
mod openapi;
mod operations;
mod reference;
mod region;
mod regions;
mod rules_as_code;
mod running;
mod schemas;
mod serve;
mod telemetry;
mod terminal;
mod usage_view;
mod user;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Rate limiting as a service.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the control plane, a gate, or both
    Serve(Box<config::ServeArgs>),
    /// Migrate the database schema to this release, and create the logins of the planes
    Migrate(config::MigrateArgs),
    /// Run everything on this machine, to try or develop Weir; needs no settings
    Dev(dev::DevArgs),
    /// Manage accounts
    User(user::UserArgs),
    /// Manage the sessions of all accounts
    Sessions(user::SessionsArgs),
    /// Manage the regions of the installation
    Regions(regions::RegionsArgs),
    /// Verify the audit log
    Audit(audit::AuditArgs),
    /// Query whether a running process is ready; exits with 0 if it is
    Health(health::HealthArgs),
    /// Report whether Weir can use a Redis; exits with 0 if it can
    CheckRedis(Box<check_redis::CheckRedisArgs>),
    /// Estimate how many gates and which Redis a load needs
    Capacity(capacity::CapacityArgs),
    /// Print the key with which gates sign deferred jobs, derived from the signing key of the control plane
    WebhookKey(derived_keys::DerivedKeyArgs),
    /// Print the key with which regions sign calls, derived from the signing key of the control plane
    RegionKey(derived_keys::DerivedKeyArgs),
    /// Print the OpenAPI documents of both planes
    Openapi(openapi::OpenapiArgs),
    #[command(flatten)]
    RulesAsCode(rules_as_code::Command),
    /// Print shell completions
    Completions {
        /// The shell
        shell: Shell,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return telemetry::failed(&error.into()),
    };
    let code = runtime.block_on(async {
        let done = match cli.command {
            Command::Serve(args) => serve::run(*args).await,
            Command::Migrate(args) => migrate::run(args).await,
            Command::Dev(args) => dev::run(args).await,
            Command::User(args) => user::run(args).await,
            Command::Sessions(args) => user::run_sessions(args).await,
            Command::Regions(args) => regions::run(args).await,
            Command::Audit(args) => audit::run(args).await,
            Command::Health(args) => health::run(args).await,
            Command::CheckRedis(args) => check_redis::run(*args).await,
            Command::Capacity(args) => capacity::run(&args),
            Command::WebhookKey(args) => derived_keys::print_webhook_key(&args),
            Command::RegionKey(args) => derived_keys::print_region_key(&args),
            Command::Openapi(args) => openapi::run(&args),
            Command::RulesAsCode(command) => return rules_as_code::run(command).await,
            Command::Completions { shell } => {
                clap_complete::generate(shell, &mut Cli::command(), "weir", &mut std::io::stdout());
                Ok(())
            }
        };
        done.map_or_else(|error| telemetry::failed(&error), |()| ExitCode::SUCCESS)
    });
    // Tasks that ignore the shutdown must not delay the end of the process.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    code
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}
