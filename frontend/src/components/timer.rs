//! Doing something again and again while a page is there: the only timer of pages.

use std::rc::Rc;
use std::time::Duration;

use leptos::prelude::*;

/// Does `again` every so often for as long as `every` says how often and the page is there; another answer of `every`
/// starts the time anew.
pub fn repeat(
    every: impl Fn() -> Option<Duration> + Send + Sync + 'static,
    again: impl Fn() + 'static,
) {
    begun(Memo::new(move |_| every()), Rc::new(again));
}

/// Once, whatever is done.
fn begun(every: Memo<Option<Duration>>, again: Rc<dyn Fn()>) {
    let timer = StoredValue::new(None::<IntervalHandle>);
    let stop = move || {
        if let Some(timer) = timer.try_update_value(Option::take).flatten() {
            timer.clear();
        }
    };
    Effect::new(move |_| {
        stop();
        if let Some(every) = every.get() {
            let again = again.clone();
            timer.set_value(set_interval_with_handle(move || again(), every).ok());
        }
    });
    on_cleanup(stop);
}
