//! The Weir dashboard: Leptos in the browser, over the admin API.
//!
//! Reading order: `app` (routes), `session` and `api` (authentication and requests), `pages` (fetch and act),
//! `components` (display without fetching), `charts` and `model` (pure logic with unit tests).

mod access;
mod api;
mod app;
mod browser;
mod charts;
mod components;
mod model;
mod pages;
mod session;

fn main() {
    browser::remove_element("loading");
    leptos::mount::mount_to_body(app::App);
}
