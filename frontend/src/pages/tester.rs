//! Tests a request against the rules without counting it, and sends real checks to a gate.

mod dry_run;
mod real_check;
mod recent;
mod request;

use leptos::prelude::*;

use crate::components::page::PageHeader;
use dry_run::Test;
use real_check::RealCheck;
use recent::Recent;
use request::{Fields, RequestForm};

#[component]
pub fn Tester() -> impl IntoView {
    let request = RequestForm::new();
    view! {
        <PageHeader title="Simulate" lead="See which rules a request would match, without counting it" />
        <Test request fields=|request| view! { <Recent /><Fields request /> }.into_any() />
        <RealCheck request />
    }
}
