//! The sessions of the signed-in person.

use weir_domain::id::SessionId;
use weir_store::SessionRow;
use weir_wire::sessions::Session;

pub(crate) mod end;
pub(crate) mod end_all;
pub(crate) mod list;

/// A session in JSON; `current` is the session of the request.
fn session(row: SessionRow, current: SessionId) -> Session {
    Session {
        id: row.id.to_string(),
        current: row.id == current,
        user_agent: row.user_agent,
        network: row.network,
        created_at: row.created_at.into(),
        refreshed_at: row.refreshed_at.into(),
        expires_at: row.expires_at.into(),
    }
}
