//! The live stream: one event a second with the tenant's current rates and denials.

use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Abortable};
use gloo_net::http::Method;
use js_sys::{Reflect, Uint8Array};
use leptos::prelude::{Callable as _, Callback, on_cleanup};
use leptos::task::spawn_local;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, ReadableStreamDefaultReader};
use weir_wire::stats::LiveTick;

use super::request::{Call, open};
use super::{Api, Problem};
use crate::browser;
use crate::model::events::Events;
use crate::model::json;

impl Api {
    /// Calls `tick` with each event of a tenant's stream until the owner of this call is disposed. When a stream ends,
    /// which servers do after a minute, or breaks, another one is opened; `lost` is called only when a stream breaks.
    pub fn subscribe(self, tenant: String, tick: Callback<LiveTick>, lost: Callback<()>) {
        let (handle, registration) = AbortHandle::new_pair();
        on_cleanup(move || handle.abort());
        let following = async move {
            loop {
                if self.read_stream(&tenant, tick).await.is_err() {
                    lost.run(());
                    browser::wait_ms(RETRY_MS).await;
                }
            }
        };
        spawn_local(Abortable::new(following, registration).map(|_| ()));
    }

    /// Reads one stream to its end.
    async fn read_stream(self, tenant: &str, tick: Callback<LiveTick>) -> Result<(), Problem> {
        let broken = |_: JsValue| Problem::unreachable("Weir");
        let stop = AbortOnDrop(AbortController::new().map_err(broken)?);
        let call = Call::new(Method::GET, format!("/tenants/{tenant}/stats/live"));
        let token = self.token().await?;
        let answer = open(&call.until(stop.0.signal()), &token).await?;
        let Some(body) = answer.body() else { return Err(Problem::unreadable(answer.status())) };
        let reader: ReadableStreamDefaultReader = body.get_reader().unchecked_into();
        let mut events = Events::default();
        loop {
            let read = JsFuture::from(reader.read()).await.map_err(broken)?;
            let piece = Reflect::get(&read, &"value".into()).map_err(broken)?;
            if piece.is_undefined() {
                return Ok(());
            }
            for event in events.push(&Uint8Array::new(&piece).to_vec()) {
                match json::read(&event.data) {
                    Ok(body) if event.name == "tick" => tick.run(body),
                    _ => {}
                }
            }
        }
    }
}

/// Aborts the request when the subscriber is dropped.
struct AbortOnDrop(AbortController);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The delay before a broken stream is reopened.
const RETRY_MS: i32 = 5_000;
