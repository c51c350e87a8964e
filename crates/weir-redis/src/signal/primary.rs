//! Follows one primary.

use super::wake::Wake;
use super::{marker, subscription};
use crate::client::Client;

/// Calls `wake` for each message, each new subscription and its end, and for each loss of data.
pub(super) async fn follow(client: &Client, marker: &str, wake: &impl Fn(Wake)) {
    tokio::join!(subscription::keep(client, wake), marker::watch(client, marker, wake));
}
