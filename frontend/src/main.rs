//! The dashboard: Leptos in the browser, over the admin API.
//!
//! Reading order: `app` (addresses), `session` and `api` (who is signed in, how the server is asked), `pages` (each fetches
//! and acts), `components` (shown, without fetching), `charts` and `model` (pure logic with ordinary tests).

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
    components::theme::apply_stored();
    leptos::mount::mount_to_body(app::App);
}
