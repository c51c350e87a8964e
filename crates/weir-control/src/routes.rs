//! Every operation of the control plane, by resource. The router and the OpenAPI document come from this list.

use axum::Extension;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;
use weir_http::json::BodyLimit;

use crate::state::ControlState;
use crate::{
    alerts, api_keys, apply, assignments, audit, ceilings, customers, deferred, health,
    invitations, me, members, metrics, namespaces, operator, overrides, plans, profiles, replicas,
    rules, search, sessions, simulate, stats, subjects, tenants, tester, views, webhooks,
};

/// The operations below `/api/v1`.
pub(crate) fn api() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .merge(sessions())
        .merge(me())
        .merge(tenants())
        .merge(members())
        .merge(invitations())
        .merge(api_keys())
        .merge(rules())
        .merge(overrides())
        .merge(profiles())
        .merge(plans())
        .merge(namespaces())
        .merge(tester())
        .merge(subjects())
        .merge(simulate())
        .merge(stats())
        .merge(alerts())
        .merge(webhooks())
        .merge(replicas())
        .merge(audit())
        .merge(operator())
}

/// Health and metrics.
pub(crate) fn operations() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(metrics::metrics_text))
}

fn sessions() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(sessions::signup::signup))
        .routes(routes!(sessions::confirm::confirm))
        .routes(routes!(sessions::login::login))
        .routes(routes!(sessions::refresh::refresh))
        .routes(routes!(sessions::logout::logout))
        .routes(routes!(sessions::options::options))
        .routes(routes!(sessions::oidc::start::start))
        .routes(routes!(sessions::oidc::callback::callback))
        .routes(routes!(sessions::request_reset::request))
        .routes(routes!(sessions::reset_password::reset))
}

fn me() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(me::read, me::rename))
        .routes(routes!(me::password::change))
        .routes(routes!(me::sessions::list, me::sessions::end_all))
        .routes(routes!(me::sessions::end))
        .routes(routes!(
            me::second_factor::read,
            me::second_factor::begin,
            me::second_factor::remove
        ))
        .routes(routes!(me::second_factor::confirm::confirm))
        .routes(routes!(me::second_factor::recovery_codes::replace))
}

fn tenants() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(tenants::list, tenants::create::create))
        .routes(routes!(tenants::read, tenants::update::update, tenants::delete))
        .routes(routes!(ceilings::read))
        .routes(routes!(views::read, views::update))
}

fn members() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(members::list))
        .routes(routes!(members::leave::leave))
        .routes(routes!(members::change, members::remove::remove))
}

fn invitations() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(invitations::list, invitations::create::create))
        .routes(routes!(invitations::revoke))
        .routes(routes!(invitations::preview))
        .routes(routes!(invitations::accept::accept))
}

fn api_keys() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(api_keys::list, api_keys::create::create))
        .routes(routes!(api_keys::delete))
        .routes(routes!(api_keys::rotate::rotate))
}

fn rules() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(rules::list::list, rules::write::create))
        .routes(routes!(rules::read::read, rules::write::update, rules::delete::delete))
        .routes(routes!(rules::read::revisions))
        .routes(routes!(rules::write::revert))
        .routes(routes!(apply::apply).layer(Extension(BodyLimit(apply::APPLY_BYTES_MAX))))
}

fn overrides() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(overrides::read::list, overrides::write::create))
        .routes(routes!(overrides::read::read, overrides::write::update, overrides::write::delete))
        .routes(routes!(overrides::restore::restore))
        .routes(
            routes!(overrides::bulk::bulk).layer(Extension(BodyLimit(overrides::BULK_BYTES_MAX))),
        )
}

fn profiles() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(profiles::read::list, profiles::write::create))
        .routes(routes!(profiles::read::read, profiles::write::update, profiles::write::delete))
        .routes(routes!(profiles::read::revisions))
        .routes(routes!(profiles::write::revert))
}

fn plans() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(plans::read::list, plans::write::create))
        .routes(routes!(plans::read::read, plans::write::update, plans::write::delete))
        .routes(routes!(plans::read::revisions))
        .routes(routes!(plans::write::revert))
        .routes(routes!(assignments::list, assignments::create))
        .routes(routes!(assignments::delete))
        .routes(routes!(assignments::bulk).layer(Extension(BodyLimit(overrides::BULK_BYTES_MAX))))
        .routes(routes!(customers::list))
        .routes(routes!(customers::read))
        .routes(routes!(customers::usage))
        .routes(routes!(customers::view::token))
        .routes(routes!(customers::view::read, customers::view::update))
        .routes(routes!(customers::view::page))
}

fn namespaces() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(namespaces::list))
        .routes(routes!(namespaces::read, namespaces::update::update))
}

fn tester() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(tester::test::test))
        .routes(routes!(tester::inspect::inspect))
        .routes(routes!(tester::reset::reset))
}

fn subjects() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(subjects::inspect::inspect))
        .routes(routes!(subjects::near_limit::near_limit, subjects::near_limit::near_limit_of_plan))
        .routes(routes!(subjects::raise))
        .routes(routes!(subjects::block))
        .routes(routes!(subjects::allow))
        .routes(routes!(search::search))
}

fn simulate() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(
            routes!(simulate::run::simulate).layer(Extension(BodyLimit(simulate::BODY_BYTES_MAX))),
        )
        .routes(routes!(simulate::status::status))
        .routes(routes!(simulate::suggest::suggest))
}

fn stats() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(stats::series::series))
        .routes(routes!(stats::rules::rules))
        .routes(routes!(rules::segments::segments))
        .routes(routes!(stats::summary::summary))
        .routes(routes!(stats::top::top))
        .routes(routes!(stats::usage::list))
        .routes(routes!(stats::denials::list))
        .routes(routes!(stats::denied_request::read))
        .routes(routes!(stats::events::list))
        .routes(routes!(stats::live::live))
}

fn alerts() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(alerts::list, alerts::write::create))
        .routes(routes!(alerts::write::update, alerts::delete))
        .routes(routes!(alerts::backtest::run))
        .routes(routes!(alerts::mute::mute))
}

fn webhooks() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(webhooks::list::list, webhooks::create::create))
        .routes(routes!(webhooks::update::update, webhooks::delete::delete))
        .routes(routes!(webhooks::rotate::rotate))
        .routes(routes!(webhooks::test::test))
        .routes(routes!(webhooks::deliveries::list))
        .routes(routes!(webhooks::again::again))
        .routes(routes!(deferred::read::read))
        .routes(routes!(deferred::list::list))
        .routes(routes!(deferred::retry::retry))
        .routes(routes!(deferred::delete::delete))
}

fn replicas() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new().routes(routes!(replicas::list)).routes(routes!(replicas::rollouts::list))
}

fn audit() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(audit::of_tenant::list))
        .routes(routes!(audit::mine::list))
        .routes(routes!(audit::of_operator::installation))
        .routes(routes!(audit::of_operator::tenant))
}

fn operator() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(operator::list::list))
        .routes(routes!(operator::suspend::suspend))
        .routes(routes!(operator::ceilings::read, operator::ceilings::set))
        .routes(routes!(operator::defaults::read, operator::defaults::set))
        .routes(routes!(operator::enforcement::read, operator::enforcement::set))
        .routes(routes!(operator::regions::read, operator::regions::set))
        .routes(routes!(operator::gates::list))
        .routes(routes!(operator::gates::rollouts))
        .routes(routes!(operator::usage::usage))
        .routes(routes!(operator::accounts::list))
        .routes(routes!(operator::issue_reset::issue))
}
