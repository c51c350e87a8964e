//! Repeating timers that stop with the page.

use std::rc::Rc;
use std::time::Duration;

use leptos::prelude::*;

/// Calls `tick` at the interval that `every` returns, until the owner is disposed; `None` pauses. When `every` changes,
/// the timer restarts.
pub fn repeat(
    every: impl Fn() -> Option<Duration> + Send + Sync + 'static,
    tick: impl Fn() + 'static,
) {
    start(Memo::new(move |_| every()), Rc::new(tick));
}

/// Not generic, so that the code is not duplicated for each closure.
fn start(every: Memo<Option<Duration>>, tick: Rc<dyn Fn()>) {
    let timer = StoredValue::new(None::<IntervalHandle>);
    let stop = move || {
        if let Some(timer) = timer.try_update_value(Option::take).flatten() {
            timer.clear();
        }
    };
    Effect::new(move |_| {
        stop();
        if let Some(every) = every.get() {
            let tick = tick.clone();
            timer.set_value(set_interval_with_handle(move || tick(), every).ok());
        }
    });
    on_cleanup(stop);
}
