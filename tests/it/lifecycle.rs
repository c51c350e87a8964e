//! Starting and stopping, and the commands other than `weir serve`.

mod commands;
mod dev;
mod rolling_restart;
mod stopping;
