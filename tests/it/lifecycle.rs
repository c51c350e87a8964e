//! Starting, stopping, and the commands beside `weir serve`.

mod commands;
mod dev;
mod stopping;
