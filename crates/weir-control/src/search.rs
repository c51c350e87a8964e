//! `GET /tenants/{tenant}/search`

use std::collections::HashMap;

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_domain::id::{AlertId, AuditId, KeyId, RuleId, TenantId, UserId, WebhookId};
use weir_domain::quantity::counted;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_store::{
    FoundObject, FoundSubject, MemberRole, OverrideFilter, Page, RuleFilter, RuleRow, SearchFilter,
    SubjectSearch, Tx,
};
use weir_wire::search::{SearchAnswer, SearchHit, SearchKind};

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::names;
use crate::rule_service::subject_of;
use crate::state::ControlState;

/// The text to find.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// A part of a value of a subject, in any case; or the id of a rule or of an audit entry. In names only the longest of several
    /// words is searched. 1 to 256 characters.
    #[param(min_length = 1, max_length = 256)]
    q: String,
}

/// The most hits of each kind.
const OF_A_KIND: u32 = 5;
/// The time in which a busy subject is found.
const SUBJECTS_MS: i64 = 24 * 60 * 60 * 1000;

/// Search for subjects, rules, overrides, alerts, webhooks, members, keys (admins) and, by its id, an audit entry (admins). At most
/// five of each kind. Subjects are the busiest ones of the last day, then those that the text can name: one for each attribute
/// by which rules count.
#[utoipa::path(get, path = "/tenants/{tenant}/search", operation_id = "search", tag = "subjects",
    params(("tenant" = String, Path, description = "`tenant_…`"), SearchQuery),
    responses((status = 200, description = "The hits", body = SearchAnswer)))]
pub(crate) async fn search(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<SearchQuery>,
) -> Result<Json<SearchAnswer>, ControlError> {
    let Some(text) = names::text_filter("q", Some(query.q))? else {
        return Err(Problem::invalid_field("q", "must be from 1 to 256 characters").into());
    };
    let tenant_id = caller.tenant_id;
    let only = caller.namespaces.only();
    let admin = caller.role >= MemberRole::Admin;
    let from = control.clock.now().plus_ms(-SUBJECTS_MS);
    let mut tx = control.reading("search", &caller).await?;
    let busy = SubjectSearch { tenant_id, namespaces: only, text: &text, from, limit: OF_A_KIND };
    let found = tx.top_subjects().search(&busy).await?;
    let names = tx.search().attributes(tenant_id, only, OF_A_KIND).await?;
    let mut data = subjects(found, names, &text);
    let word = text.split(' ').max_by_key(|word| word.len()).unwrap_or(&text);
    data.extend(rules(&mut tx, tenant_id, only, word).await?);
    data.extend(overrides(&mut tx, tenant_id, only, &text).await?);
    if !caller.namespaces.are_restricted() {
        let filter = SearchFilter {
            tenant_id,
            text: word,
            urls: caller.role >= MemberRole::Editor,
            keys: admin,
            audit_id: text.parse::<AuditId>().ok().filter(|_| admin),
            limit: OF_A_KIND,
        };
        data.extend(tx.search().objects(&filter).await?.into_iter().filter_map(object));
    }
    Ok(Json(SearchAnswer { data }))
}

/// The busy subjects, then the others that the text can name.
fn subjects(found: Vec<FoundSubject>, names: Vec<String>, text: &str) -> Vec<SearchHit> {
    let hit = |subject, detail| SearchHit {
        kind: SearchKind::Subject,
        id: None,
        name: None,
        detail,
        subject: Some(subject),
    };
    let busy = found.into_iter().map(|subject| {
        let denied = match subject.denied {
            0 => "busy in the last day".to_owned(),
            denied => format!("at least {} in the last day", counted(denied, "denial", "denials")),
        };
        hit(subject_of(subject.subject), denied)
    });
    let mut hits: Vec<_> = busy.collect();
    for name in names {
        let subject = Some([(name, text.to_owned())].into());
        if hits.iter().all(|hit| hit.subject != subject) {
            hits.extend(subject.map(|subject| hit(subject, String::new())));
        }
    }
    hits
}

async fn rules(
    tx: &mut Tx,
    tenant_id: TenantId,
    only: Option<&[String]>,
    text: &str,
) -> Result<Vec<SearchHit>, ControlError> {
    let id = text.parse::<RuleId>().ok();
    let search = Some(text.to_owned()).filter(|_| id.is_none());
    let rows = rules_with(tx, tenant_id, only, search, id.map(|id| vec![id])).await?;
    let hit = |row: RuleRow| SearchHit {
        kind: SearchKind::Rule,
        id: Some(row.id.to_string()),
        name: Some(row.columns.name),
        detail: row.columns.namespace,
        subject: None,
    };
    Ok(rows.into_iter().map(hit).collect())
}

async fn rules_with(
    tx: &mut Tx,
    tenant_id: TenantId,
    only: Option<&[String]>,
    search: Option<String>,
    ids: Option<Vec<RuleId>>,
) -> Result<Vec<RuleRow>, ControlError> {
    let namespaces = only.map(<[String]>::to_vec);
    let filter = RuleFilter { namespaces, search, ids, has: None };
    let page = Page { limit: OF_A_KIND, after: None };
    Ok(tx.rules().list(tenant_id, &filter, &page).await?.items)
}

async fn overrides(
    tx: &mut Tx,
    tenant_id: TenantId,
    only: Option<&[String]>,
    text: &str,
) -> Result<Vec<SearchHit>, ControlError> {
    let namespaces = only.map(<[String]>::to_vec);
    let subject = Some(text.to_owned());
    let filter = OverrideFilter { rule_id: None, namespaces, subject };
    let page = Page { limit: OF_A_KIND, after: None };
    let rows = tx.overrides().list(tenant_id, &filter, &page).await?.items;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let ids = rows.iter().map(|row| row.rule_id).collect();
    let named = rules_with(tx, tenant_id, only, None, Some(ids)).await?;
    let names: HashMap<_, _> = named.into_iter().map(|row| (row.id, row.columns.name)).collect();
    let hits = rows.into_iter().map(|row| SearchHit {
        kind: SearchKind::Override,
        id: Some(row.id.to_string()),
        name: None,
        detail: names.get(&row.rule_id).cloned().unwrap_or_default(),
        subject: Some(subject_of(row.columns.subject)),
    });
    Ok(hits.collect())
}

/// An alert, webhook, member, key or audit entry.
fn object(found: FoundObject) -> Option<SearchHit> {
    let FoundObject { kind, id, name, detail } = found;
    let (kind, id, detail) = match kind.as_str() {
        "alert" => (SearchKind::Alert, AlertId::from_u128(id).to_string(), detail),
        "webhook" => (SearchKind::Webhook, WebhookId::from_u128(id).to_string(), detail),
        "member" => (SearchKind::Member, UserId::from_u128(id).to_string(), detail),
        "key" => (SearchKind::Key, KeyId::from_u128(id).to_string(), format!("weir_{detail}_…")),
        "audit" => (SearchKind::Audit, AuditId::from_u128(id).to_string(), detail),
        _ => return None,
    };
    Some(SearchHit { kind, id: Some(id), name: Some(name), detail, subject: None })
}
