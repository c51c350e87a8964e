//! Data that comes from the server: on its way, here, or failed.

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::api::Problem;
use crate::components::feedback::{ProblemPanel, Skeleton};

/// Data of a page, with a way to fetch it again; cheap to copy.
#[derive(Debug)]
pub struct Load<T: Send + Sync + 'static> {
    state: RwSignal<Remote<T>>,
    turn: RwSignal<u32>,
}

/// Where the data is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remote<T> {
    Loading,
    Ready(T),
    Failed(Problem),
}

type Fetch<T> = Box<dyn Fn() -> LocalBoxFuture<'static, Result<T, Problem>>>;

/// Fetches now, when asked again, and when a signal changes that `fetch` reads before it waits. What is there stays until
/// the new data is, so nothing moves meanwhile.
pub fn load<T, F, Answer>(fetch: F) -> Load<T>
where
    T: Clone + Send + Sync + 'static,
    F: Fn() -> Answer + 'static,
    Answer: Future<Output = Result<T, Problem>> + 'static,
{
    begun(Box::new(move || fetch().boxed_local()))
}

/// Once for each kind of data, however often it is loaded.
fn begun<T: Clone + Send + Sync + 'static>(fetch: Fetch<T>) -> Load<T> {
    let load = Load { state: RwSignal::new(Remote::Loading), turn: RwSignal::new(0) };
    let newest = StoredValue::new(0_u32);
    Effect::new(move |_| {
        load.turn.track();
        let mine = newest.get_value() + 1;
        newest.set_value(mine);
        let answer = fetch();
        spawn_local(async move {
            let answer = answer.await;
            if newest.try_get_value() == Some(mine) {
                load.state.try_set(answer.map_or_else(Remote::Failed, Remote::Ready));
            }
        });
    });
    load
}

/// Shows the data, a skeleton before it is there, or what went wrong with a way to try again.
pub fn loaded<T, V>(load: Load<T>, view: impl Fn(T) -> V + Send + Sync + 'static) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
    V: IntoView + 'static,
{
    move || match load.state.get() {
        Remote::Loading => view! { <Skeleton /> }.into_any(),
        Remote::Ready(data) => view(data).into_any(),
        Remote::Failed(problem) => failed(problem, Callback::new(move |()| load.again())),
    }
}

fn failed(problem: Problem, retry: Callback<()>) -> AnyView {
    view! { <ProblemPanel problem retry /> }.into_any()
}

/// As [`loaded`], but what is shown stays and its data changes: for pages that are fetched again and again. When that
/// fails, what is there stays and the problem stands above it.
pub fn kept<T, V>(
    load: Load<T>,
    view: impl Fn(Signal<T>) -> V + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
    V: IntoView + 'static,
{
    let last = RwSignal::new(None::<T>);
    Effect::new(move |_| {
        if let Some(data) = load.data() {
            last.set(Some(data));
        }
    });
    let ready = Memo::new(move |_| last.with(Option::is_some));
    let problem = move || match load.state.get() {
        Remote::Failed(problem) => Some(failed(problem, Callback::new(move |()| load.again()))),
        Remote::Loading | Remote::Ready(_) => None,
    };
    let shown = move || {
        if ready.get() {
            let data = Signal::derive(move || last.get().expect("it was there once and stays"));
            view(data).into_any()
        } else {
            view! { <Show when=move || load.is_loading()><Skeleton /></Show> }.into_any()
        }
    };
    view! { {problem}{shown} }
}

impl<T: Clone + Send + Sync + 'static> Load<T> {
    /// Fetches again.
    pub fn again(self) {
        self.turn.update(|turn| *turn += 1);
    }

    /// Why it is not there.
    pub fn problem(self) -> Option<Problem> {
        match self.state.get() {
            Remote::Failed(problem) => Some(problem),
            Remote::Loading | Remote::Ready(_) => None,
        }
    }

    /// Whether nothing came yet; tracked.
    fn is_loading(self) -> bool {
        self.state.with(|state| matches!(state, Remote::Loading))
    }

    /// The data, once it is there.
    pub fn data(self) -> Option<T> {
        match self.state.get() {
            Remote::Ready(data) => Some(data),
            Remote::Loading | Remote::Failed(_) => None,
        }
    }
}

impl<T: Send + Sync + 'static> Clone for Load<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static> Copy for Load<T> {}
