//! Data fetched from the server: loading, ready or failed.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::api::{Answer, Connection, Problem};
use crate::components::control_flow::{Show, dynamic};
use crate::components::feedback::{LoadingSkeleton, ProblemPanel, Skeleton};

/// Data of a page, with a way to fetch it again; cheap to copy.
#[derive(Debug)]
pub struct RemoteData<T: Send + Sync + 'static> {
    state: RwSignal<RemoteState<T>>,
    refetches: RwSignal<u32>,
}

/// The state of fetched data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteState<T> {
    Loading,
    Ready(T),
    Failed(Problem),
}

type Fetch<T> = Box<dyn Fn() -> Answer<T>>;

/// Stores an answer.
type Apply = Box<dyn FnOnce()>;

/// Fetches now, on `refetch`, and when a signal changes that `fetch` reads before it returns. The previous data
/// stays until the new data arrives, so the page does not jump.
pub fn fetch_data<T>(fetch: impl Fn() -> Answer<T> + 'static) -> RemoteData<T>
where
    T: Clone + Send + Sync + 'static,
{
    start(Box::new(fetch), Signal::stored(true))
}

/// Like [`fetch_data`], but begins once `ready` holds: for data that must not delay what the page shows first. A browser sends few
/// requests at a time.
pub fn fetch_after<T>(
    ready: impl Into<Signal<bool>>,
    fetch: impl Fn() -> Answer<T> + 'static,
) -> RemoteData<T>
where
    T: Clone + Send + Sync + 'static,
{
    start(Box::new(fetch), ready.into())
}

/// Boxed, so that the code is generic only over the data.
fn start<T: Clone + Send + Sync + 'static>(fetch: Fetch<T>, ready: Signal<bool>) -> RemoteData<T> {
    let data =
        RemoteData { state: RwSignal::new(RemoteState::Loading), refetches: RwSignal::new(0) };
    let store = move |answer: Result<T, Problem>| -> Apply {
        Box::new(move || {
            data.state.try_set(answer.map_or_else(RemoteState::Failed, RemoteState::Ready));
        })
    };
    let fetch = move || fetch().map(store).boxed_local();
    follow(data.refetches, ready, Box::new(move || data.is_missing()), Box::new(fetch));
    data
}

/// Not generic, so that the code is not duplicated for each type of data.
fn follow(
    refetches: RwSignal<u32>,
    ready: Signal<bool>,
    is_missing: Box<dyn Fn() -> bool>,
    fetch: Box<dyn Fn() -> LocalBoxFuture<'static, Apply>>,
) {
    let latest = StoredValue::new(0_u32);
    let connection = expect_context::<Connection>();
    Effect::new(move |retried: Option<u32>| {
        let retries = connection.retries();
        if retried.is_some_and(|retried| retried != retries) && is_missing() {
            refetches.update(|refetches| *refetches += 1);
        }
        retries
    });
    Effect::new(move |_| {
        refetches.track();
        if !ready.get() {
            return;
        }
        let current = latest.get_value() + 1;
        latest.set_value(current);
        let answer = fetch();
        spawn_local(async move {
            let apply = answer.await;
            if latest.try_get_value() == Some(current) {
                apply();
            }
        });
    });
}

/// Shows the data, a skeleton while it loads, or the problem with a retry button.
pub fn show<T, V>(
    data: RemoteData<T>,
    view: impl Fn(T) -> V + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
    V: IntoView + 'static,
{
    show_shaped(data, Skeleton::Text, view)
}

/// Like [`show`], for data that becomes a table.
pub fn show_table<T, V>(
    data: RemoteData<T>,
    view: impl Fn(T) -> V + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
    V: IntoView + 'static,
{
    show_shaped(data, Skeleton::Table, view)
}

/// Like [`show`], with a skeleton of this shape.
pub fn show_shaped<T, V>(
    data: RemoteData<T>,
    shape: Skeleton,
    view: impl Fn(T) -> V + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
    V: IntoView + 'static,
{
    dynamic(Box::new(move || match data.state.get() {
        RemoteState::Ready(data) => view(data).into_any(),
        // The banner shows a problem of the connection.
        RemoteState::Failed(problem) if !problem.is_unreachable() => {
            problem_panel(problem, data.refetches)
        }
        RemoteState::Loading | RemoteState::Failed(_) => skeleton(shape),
    }))
}

fn problem_panel(problem: Problem, refetches: RwSignal<u32>) -> AnyView {
    let retry = Callback::new(move |()| refetches.update(|refetches| *refetches += 1));
    view! { <ProblemPanel problem retry /> }.into_any()
}

fn skeleton(shape: Skeleton) -> AnyView {
    view! { <LoadingSkeleton shape /> }.into_any()
}

/// Like [`show`], but `view` is created once and its signal updates: for pages that refetch. If a refetch fails, the
/// last data stays and the banner shows the problem.
pub fn show_latest<T, V>(
    data: RemoteData<T>,
    view: impl Fn(Signal<T>) -> V + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
    V: IntoView + 'static,
{
    show_latest_shaped(data, Skeleton::Text, view)
}

/// Like [`show_latest`], with a skeleton of this shape.
pub fn show_latest_shaped<T, V>(
    data: RemoteData<T>,
    shape: Skeleton,
    view: impl Fn(Signal<T>) -> V + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
    V: IntoView + 'static,
{
    let last = RwSignal::new(None::<T>);
    let keep = move || data.data().map(|data| last.set(Some(data))).is_some();
    let view = move || {
        let data = Signal::derive(move || last.get().expect("it was there once and stays"));
        view(data).into_any()
    };
    latest(Latest {
        keep: Box::new(keep),
        status: Arc::new(move || data.status()),
        refetches: data.refetches,
        shape,
        view: Box::new(view),
    })
}

/// The latest data and its view, without the type of the data.
struct Latest {
    /// Keeps the data, if it has arrived; tracked.
    keep: Box<dyn Fn() -> bool>,
    status: Arc<dyn Fn() -> RemoteState<()> + Send + Sync>,
    refetches: RwSignal<u32>,
    shape: Skeleton,
    view: Box<dyn Fn() -> AnyView + Send>,
}

fn latest(Latest { keep, status, refetches, shape, view }: Latest) -> AnyView {
    let ready = RwSignal::new(false);
    Effect::new(move |_| {
        if keep() && !ready.get_untracked() {
            ready.set(true);
        }
    });
    let connection = expect_context::<Connection>();
    let current = status.clone();
    Effect::new(move |_| {
        if let RemoteState::Failed(problem) = current()
            && ready.get_untracked()
        {
            connection.report(problem);
        }
    });
    let current = status.clone();
    let problem = move || match current() {
        RemoteState::Failed(problem) if !ready.get() && !problem.is_unreachable() => {
            Some(problem_panel(problem, refetches))
        }
        _ => None,
    };
    let pending = move || match status() {
        RemoteState::Loading => true,
        RemoteState::Failed(problem) => problem.is_unreachable(),
        RemoteState::Ready(()) => false,
    };
    let pending = Memo::new(move |_| pending());
    let shown = move || {
        if ready.get() {
            view()
        } else {
            view! { <Show when=move || pending.get()><LoadingSkeleton shape /></Show> }.into_any()
        }
    };
    view! { {problem}{shown} }.into_any()
}

impl<T: Clone + Send + Sync + 'static> RemoteData<T> {
    /// Fetches again.
    pub fn refetch(self) {
        self.refetches.update(|refetches| *refetches += 1);
    }

    /// The state; tracked.
    pub fn state(self) -> RemoteState<T> {
        self.state.get()
    }

    /// Whether the first fetch has ended; tracked.
    pub fn is_settled(self) -> bool {
        self.state.with(|state| !matches!(state, RemoteState::Loading))
    }

    /// The problem, if the last fetch failed.
    pub fn problem(self) -> Option<Problem> {
        match self.status() {
            RemoteState::Failed(problem) => Some(problem),
            RemoteState::Loading | RemoteState::Ready(()) => None,
        }
    }

    /// The state without the data; tracked.
    fn status(self) -> RemoteState<()> {
        self.state.with(|state| match state {
            RemoteState::Loading => RemoteState::Loading,
            RemoteState::Ready(_) => RemoteState::Ready(()),
            RemoteState::Failed(problem) => RemoteState::Failed(problem.clone()),
        })
    }

    /// Whether the last fetch got no answer; not tracked.
    fn is_missing(self) -> bool {
        self.state.with_untracked(
            |state| matches!(state, RemoteState::Failed(problem) if problem.is_unreachable()),
        )
    }

    /// The data, once it has loaded.
    pub fn data(self) -> Option<T> {
        match self.state.get() {
            RemoteState::Ready(data) => Some(data),
            RemoteState::Loading | RemoteState::Failed(_) => None,
        }
    }

    /// The result of `read` for the last data, which a failed refetch leaves; the default until they have loaded.
    pub fn latest<V>(self, read: impl Fn(T) -> V + Send + Sync + 'static) -> Memo<V>
    where
        V: Clone + Default + PartialEq + Send + Sync + 'static,
    {
        Memo::new(move |last: Option<&V>| {
            self.data().map(&read).or_else(|| last.cloned()).unwrap_or_default()
        })
    }
}

impl<T: Send + Sync + 'static> Clone for RemoteData<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static> Copy for RemoteData<T> {}
