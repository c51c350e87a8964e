//! What happens now, as the server tells it once a second.

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

impl Api {
    /// Calls `tick` with what happens in a tenant, as long as whoever asked is on the page. A stream that ends, as the
    /// server's do after a minute, or that breaks off is followed by the next; `lost` hears of the latter.
    pub fn follow(self, tenant: String, tick: Callback<LiveTick>, lost: Callback<()>) {
        let (handle, registration) = AbortHandle::new_pair();
        on_cleanup(move || handle.abort());
        let following = async move {
            loop {
                if self.one_stream(&tenant, tick).await.is_err() {
                    lost.run(());
                    browser::wait_ms(AGAIN_MS).await;
                }
            }
        };
        spawn_local(Abortable::new(following, registration).map(|_| ()));
    }

    /// One stream until it ends.
    async fn one_stream(self, tenant: &str, tick: Callback<LiveTick>) -> Result<(), Problem> {
        let broken = |_: JsValue| Problem::unreachable("The server");
        let stop = Stop(AbortController::new().map_err(broken)?);
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
                match serde_json::from_str(&event.data) {
                    Ok(told) if event.name == "tick" => tick.run(told),
                    _ => {}
                }
            }
        }
    }
}

/// Ends the request when nobody listens any more.
struct Stop(AbortController);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// How long after a broken stream the next is tried.
const AGAIN_MS: i32 = 5_000;
