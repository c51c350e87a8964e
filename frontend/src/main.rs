//! The dashboard.

use leptos::prelude::*;

fn main() {
    mount_to_body(|| view! { <h1>"Weir"</h1> });
}
