//! Test: how the rules would meet a request, with nothing counted, and a real check at a gate.

mod real;
mod recent;
mod request;
mod tested;

use leptos::prelude::*;

use crate::components::page::PageHead;
use real::RealCheck;
use recent::Recent;
use request::{Fields, RequestForm};
use tested::Test;

/// The page.
#[component]
pub fn Tester() -> impl IntoView {
    let request = RequestForm::new();
    view! {
        <PageHead title="Test" lead="Describe a request and see what your rules make of it." />
        <Test request fields=|request| view! { <Recent /><Fields request /> }.into_any() />
        <RealCheck request />
    }
}
