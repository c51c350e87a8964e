//! The audit log: that of a tenant, that of a person, and all of them for operators.

use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{Actor, AuditFilter, AuditLog, AuditRow, RevisionRow, Tx};
use weir_wire::audit::{ActorKind, AuditActor, AuditEntry, Revision};
use weir_wire::page::Page;
use weir_wire::time::DateTime;

use crate::error::ControlError;
use crate::listing::{self, List, ListQuery};
use crate::names;

pub(crate) mod mine;
mod ocsf;
pub(crate) mod of_operator;
pub(crate) mod of_tenant;
pub(crate) mod summary;

/// The largest sequence number that JSON can hold exactly.
const AFTER_MAX: u64 = (1 << 53) - 1;

/// The filter and page of entries.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// The action, such as `rule.update`; `rule` for every action on rules. At most 256 characters.
    #[param(max_length = 256)]
    action: Option<String>,
    /// Part of the actor's e-mail or of the key's name, in any case; at most 256 characters.
    #[param(max_length = 256)]
    actor: Option<String>,
    /// Part of the object's name, e-mail or id, of the client's address or of the request's id, in any case; at most 256
    /// characters.
    #[param(max_length = 256)]
    search: Option<String>,
    /// Not before this time, RFC 3339.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<DateTime>,
    /// Before this time, RFC 3339.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<DateTime>,
    /// `desc` (default): newest first, page by page with `cursor`. `asc`: oldest first from `after`, with no other filter; a program
    /// that continues with the `seq` of the last entry gets every entry exactly once.
    #[param(inline)]
    order: Option<Order>,
    /// With `order=asc`: the `seq` after which to begin; 0 (default) for the oldest entry that is retained.
    after: Option<u64>,
    /// `json` (default), or with `order=asc` `ocsf`: lines of events of the Open Cybersecurity Schema Framework, class API Activity.
    #[param(inline)]
    format: Option<Format>,
}

/// The order of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    Desc,
    Asc,
}

/// The form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    Json,
    Ocsf,
}

impl AuditQuery {
    /// Entries of a log, from a transaction that can read it.
    async fn answer(self, tx: &mut Tx, log: AuditLog) -> Result<Response, ControlError> {
        if self.order == Some(Order::Asc) {
            return self.tail(tx, log).await;
        }
        let needs_order = |field| Err(Problem::invalid_field(field, "needs `order=asc`").into());
        if self.after.is_some() {
            return needs_order("after");
        }
        if self.format == Some(Format::Ocsf) {
            return needs_order("format");
        }
        Ok(Json(self.page(tx, log).await?).into_response())
    }

    /// The entries after a sequence number, oldest first.
    async fn tail(self, tx: &mut Tx, log: AuditLog) -> Result<Response, ControlError> {
        let combined = [
            ("cursor", self.cursor.is_some()),
            ("action", self.action.is_some()),
            ("actor", self.actor.is_some()),
            ("search", self.search.is_some()),
            ("from", self.from.is_some()),
            ("to", self.to.is_some()),
        ];
        if let Some((field, _)) = combined.into_iter().find(|(_, given)| *given) {
            let reason = "cannot be combined with `order=asc`, which reads every entry";
            return Err(Problem::invalid_field(field, reason).into());
        }
        let after = self.after.unwrap_or(0);
        if after > AFTER_MAX {
            let reason = format!("must be from 0 to {AFTER_MAX}");
            return Err(Problem::invalid_field("after", reason).into());
        }
        let limit = listing::limit(self.limit)?;
        let Some(rows) = tx.audit().tail(log, after, limit).await? else {
            let reason = "must be `desc`: this list joins several logs, which have no common order";
            return Err(Problem::invalid_field("order", reason).into());
        };
        let entries: Vec<_> = rows.into_iter().map(entry).collect();
        Ok(match self.format {
            None | Some(Format::Json) => {
                Json(Page { data: entries, next_cursor: None }).into_response()
            }
            Some(Format::Ocsf) => ocsf::answer(&entries),
        })
    }

    /// One page, newest first.
    async fn page(self, tx: &mut Tx, log: AuditLog) -> Result<Page<AuditEntry>, ControlError> {
        let filter = self.filter()?;
        let of = ["audit", &format!("{log:?}"), &format!("{filter:?}")];
        let list = List::new(&of, ListQuery { limit: self.limit, cursor: self.cursor })?;
        let page = list.page(|key: String| key.parse().ok())?;
        let listing = tx.audit().list(log, &filter, &page).await?;
        Ok(list.answer(listing, |row| row.id.to_string(), entry))
    }

    fn filter(&self) -> Result<AuditFilter, Problem> {
        Ok(AuditFilter {
            action: names::text_filter("action", self.action.clone())?,
            actor: names::text_filter("actor", self.actor.clone())?,
            search: names::text_filter("search", self.search.clone())?,
            from: self.from.map(|at| at.0),
            to: self.to.map(|at| at.0),
        })
    }
}

/// The actor in JSON.
pub(crate) fn actor(actor: Actor) -> AuditActor {
    match actor {
        Actor::Person { id, email } => {
            AuditActor { kind: ActorKind::Person, id: Some(id.to_string()), name: Some(email) }
        }
        Actor::Key { id, name } => {
            AuditActor { kind: ActorKind::Key, id: Some(id.to_string()), name: Some(name) }
        }
        Actor::System => AuditActor { kind: ActorKind::System, id: None, name: None },
        Actor::Anonymous => AuditActor { kind: ActorKind::Anonymous, id: None, name: None },
    }
}

fn entry(row: AuditRow) -> AuditEntry {
    AuditEntry {
        id: row.id.to_string(),
        tenant_id: row.tenant_id.map(|id| id.to_string()),
        seq: row.seq,
        at: row.at.into(),
        actor: actor(row.actor),
        summary: summary::summary(&row.action, row.before.as_ref(), row.after.as_ref()),
        action: row.action,
        object_kind: row.object_kind,
        object_id: row.object_id,
        before: row.before,
        after: row.after,
        ip: row.ip,
        request_id: row.request_id,
    }
}

/// A revision of a rule or profile in JSON.
pub(crate) fn revision(row: RevisionRow) -> Revision {
    Revision {
        revision: row.revision,
        at: row.at.into(),
        actor: actor(row.actor),
        before: row.before,
        after: row.after,
    }
}
