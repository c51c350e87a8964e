//! A small picture of a rule: the counter of its first limit during two bursts, or that every check is allowed or denied.

use leptos::prelude::*;
use weir_wire::limits::AlgorithmName;
use weir_wire::rules::RuleBody;
use weir_wire::words::Action;

use crate::model::mini_picture::{HEIGHT, WIDTH, path};

/// The picture of an algorithm. Screen readers skip it: the name of the algorithm is beside it.
#[component]
pub fn AlgorithmPicture(#[prop(into)] algorithm: Signal<AlgorithmName>) -> impl IntoView {
    picture("mini-picture", Signal::derive(move || path(algorithm.get()).to_owned()))
}

/// The picture of a rule.
#[component]
pub fn MiniPicture(rule: RuleBody) -> impl IntoView {
    let RuleBody { action, limits, .. } = rule;
    let (class, path) = match (action, limits.first()) {
        (Action::Limit, Some(limit)) => ("mini-picture", path(limit.algorithm()).to_owned()),
        (Action::Deny, _) => {
            ("mini-picture denies", format!("M0 {HEIGHT}L0 2L{WIDTH} 2L{WIDTH} {HEIGHT}Z"))
        }
        _ => ("mini-picture", format!("M0 {0}L{WIDTH} {0}", HEIGHT - 2)),
    };
    picture(class, Signal::stored(path))
}

fn picture(class: &'static str, path: Signal<String>) -> impl IntoView {
    view! { <svg class=class viewBox=format!("0 0 {WIDTH} {HEIGHT}") aria-hidden="true"><path d=path /></svg> }
}
