//! Data fetched from the server: loading, ready or failed.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::api::{Answer, Connection, Problem};
use crate::browser;
use crate::components::control_flow::{Show, dynamic};
use crate::components::feedback::{LoadingSkeleton, ProblemPanel, Skeleton};

/// Data of a page, with a way to fetch it again; cheap to copy.
#[derive(Debug)]
pub struct RemoteData<T: Send + Sync + 'static> {
    remote: Remote,
    data: PhantomData<fn() -> T>,
}

/// The state of fetched data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteState<T> {
    Loading,
    Ready(T),
    Failed(Problem),
}

/// Data of any type, so that the code of its states is there once and not for each type.
type Untyped = Arc<dyn Any + Send + Sync>;

/// [`RemoteData`] without the type of the data.
#[derive(Debug, Clone, Copy)]
struct Remote {
    state: RwSignal<RemoteState<Untyped>>,
    requests: RwSignal<Requests>,
}

#[derive(Debug, Default)]
struct Requests {
    /// The number of calls of `refetch`.
    refetches: u32,
    /// The time at which the present request began, until it is answered.
    asked_ms: Option<i64>,
}

/// The age of a request from which a poll no longer waits for its answer.
const ANSWER_MS: i64 = 30_000;

type Fetch<T> = Box<dyn Fn() -> Answer<T>>;
type UntypedAnswer = LocalBoxFuture<'static, Result<Untyped, Problem>>;

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
fn start<T: Send + Sync + 'static>(fetch: Fetch<T>, ready: Signal<bool>) -> RemoteData<T> {
    let untyped = |data: T| -> Untyped { Arc::new(data) };
    let fetch = move || fetch().map(move |answer| answer.map(untyped)).boxed_local();
    RemoteData { remote: follow(ready, Box::new(fetch)), data: PhantomData }
}

fn follow(ready: Signal<bool>, fetch: Box<dyn Fn() -> UntypedAnswer>) -> Remote {
    let (state, requests) =
        (RwSignal::new(RemoteState::Loading), RwSignal::new(Requests::default()));
    let remote = Remote { state, requests };
    let latest = StoredValue::new(0_u32);
    let connection = expect_context::<Connection>();
    Effect::new(move |retried: Option<u32>| {
        let retries = connection.retries();
        if retried.is_some_and(|retried| retried != retries) && remote.is_missing() {
            remote.refetch();
        }
        retries
    });
    Effect::new(move |_| {
        requests.track();
        if !ready.get() {
            return;
        }
        let current = latest.get_value() + 1;
        latest.set_value(current);
        requests.write_untracked().asked_ms = Some(browser::now_ms());
        let answer = fetch();
        spawn_local(async move {
            let answer = answer.await;
            if latest.try_get_value() == Some(current) {
                if let Some(mut requests) = requests.try_write_untracked() {
                    requests.asked_ms = None;
                }
                state.try_set(answer.map_or_else(RemoteState::Failed, RemoteState::Ready));
            }
        });
    });
    remote
}

/// The data as their type.
fn typed<T: Clone + 'static>(data: &Untyped) -> T {
    data.downcast_ref::<T>().expect("they have the type with which they were fetched").clone()
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
    shown(data.remote, shape, Box::new(move |data| view(typed(data)).into_any()))
}

fn shown(
    remote: Remote,
    shape: Skeleton,
    view: Box<dyn Fn(&Untyped) -> AnyView + Send + Sync>,
) -> impl IntoView {
    dynamic(Box::new(move || match remote.state.get() {
        RemoteState::Ready(data) => view(&data),
        // The banner shows a problem of the connection.
        RemoteState::Failed(problem) if !problem.is_unreachable() => problem_panel(problem, remote),
        RemoteState::Loading | RemoteState::Failed(_) => skeleton(shape),
    }))
}

fn problem_panel(problem: Problem, remote: Remote) -> AnyView {
    let retry = Callback::new(move |()| remote.refetch());
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
    let view = move |last: RwSignal<Option<Untyped>>| {
        let read = |data: &Option<Untyped>| typed(data.as_ref().expect("it was there and stays"));
        view(Signal::derive(move || last.with(read))).into_any()
    };
    latest(data.remote, shape, Box::new(view))
}

/// Like [`show_latest`], for the rows of a table.
pub fn show_rows<T, V>(
    data: RemoteData<Vec<T>>,
    view: impl Fn(Signal<Vec<T>>) -> V + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + PartialEq + Send + Sync + 'static,
    V: IntoView + 'static,
{
    // Stored, because each cell reads its row.
    show_latest_shaped(data, Skeleton::Table, move |rows| {
        view(Memo::new(move |_| rows.get()).into())
    })
}

/// `view` shows the last data that arrived.
fn latest(
    remote: Remote,
    shape: Skeleton,
    view: Box<dyn Fn(RwSignal<Option<Untyped>>) -> AnyView + Send>,
) -> AnyView {
    let last = RwSignal::new(None);
    let ready = Memo::new(move |_| last.with(Option::is_some));
    Effect::new(move |_| {
        if let RemoteState::Ready(data) = remote.state.get() {
            last.set(Some(data));
        }
    });
    let connection = expect_context::<Connection>();
    Effect::new(move |_| {
        if let RemoteState::Failed(problem) = remote.status()
            && ready.get_untracked()
        {
            connection.report(problem);
        }
    });
    let problem = move || match remote.status() {
        RemoteState::Failed(problem) if !ready.get() && !problem.is_unreachable() => {
            Some(problem_panel(problem, remote))
        }
        _ => None,
    };
    let pending = move || match remote.status() {
        RemoteState::Loading => true,
        RemoteState::Failed(problem) => problem.is_unreachable(),
        RemoteState::Ready(()) => false,
    };
    let pending = Memo::new(move |_| pending());
    let shown = move || {
        if ready.get() {
            view(last)
        } else {
            view! { <Show when=move || pending.get()><LoadingSkeleton shape /></Show> }.into_any()
        }
    };
    view! { {problem}{shown} }.into_any()
}

impl Remote {
    fn refetch(self) {
        self.requests.update(|requests| requests.refetches += 1);
    }

    /// Fetches again, unless the answer to the present request is awaited: a newer request would make it void, and over a slow
    /// connection no answer would ever count.
    fn poll(self) {
        let is_recent = |asked_ms: i64| browser::now_ms() - asked_ms < ANSWER_MS;
        if !self.requests.with_untracked(|requests| requests.asked_ms.is_some_and(is_recent)) {
            self.refetch();
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
}

impl<T: Clone + Send + Sync + 'static> RemoteData<T> {
    /// Fetches again.
    pub fn refetch(self) {
        self.remote.refetch();
    }

    /// Fetches again, for timers: not while an answer is awaited.
    pub fn poll(self) {
        self.remote.poll();
    }

    /// The state; tracked.
    pub fn state(self) -> RemoteState<T> {
        match self.remote.state.get() {
            RemoteState::Loading => RemoteState::Loading,
            RemoteState::Ready(data) => RemoteState::Ready(typed(&data)),
            RemoteState::Failed(problem) => RemoteState::Failed(problem),
        }
    }

    /// Whether the first fetch has ended; tracked.
    pub fn is_settled(self) -> bool {
        self.remote.status() != RemoteState::Loading
    }

    /// The problem, if the last fetch failed.
    pub fn problem(self) -> Option<Problem> {
        match self.remote.status() {
            RemoteState::Failed(problem) => Some(problem),
            RemoteState::Loading | RemoteState::Ready(()) => None,
        }
    }

    /// The data, once it has loaded.
    pub fn data(self) -> Option<T> {
        match self.remote.state.get() {
            RemoteState::Ready(data) => Some(typed(&data)),
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
