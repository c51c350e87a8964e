//! The ways between regions: calls of the real link to real listeners take supplied time, get lost, come late or arrive twice.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::serve::ListenerExt as _;
use futures_util::stream;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use weir_domain::time::{Clock, Micros};
use weir_http::plane::{Plane, PlaneSettings};
use weir_http::request_id::RequestIds;
use weir_redis::signal::Signal;
use weir_region::{Call, Link, LinkSettings, PATH, RegionKey, RegionKeys};

use super::super::fixture::{Random, Time, timestamp};
use crate::regions::listener::router;
use crate::state::GateState;

/// The number of regions. The first is the home at the beginning.
pub(super) const REGIONS: usize = 3;

/// The ways between all regions. Each region has a gate, which calls an address of its own for whatever home it knows.
#[derive(Clone)]
pub(super) struct Ways(Arc<Mutex<Parts>>);

pub(super) struct Parts {
    pub(super) random: Random,
    /// The internal listeners of the gates.
    listeners: [Option<Plane>; REGIONS],
    /// The homes of the gates' rulebooks.
    pub(super) homes: [usize; REGIONS],
    pub(super) is_cut: [bool; REGIONS],
    /// One of this number of calls suffers a fault; 0: none.
    pub(super) faults_one_in: u64,
    pub(super) can_be_late: bool,
    /// Calls that arrive later, with the region to which they go.
    late: Vec<(usize, HeaderMap, Bytes)>,
    /// The time of each direction.
    pub(super) delay_us: u64,
    now: Micros,
    /// The calls on their way: the region that called, the time of arrival, and the number of works.
    travelling: Vec<(usize, u64, usize, oneshot::Sender<()>)>,
    runs: u128,
    pub(super) faults: Faults,
}

/// The numbers of faults.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Faults {
    pub(super) calls: u64,
    refused: u64,
    lost_calls: u64,
    lost_answers: u64,
    late: u64,
    repeated: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum Fault {
    None,
    Refused,
    LostCall,
    LostAnswer,
    Late,
    Repeated,
}

/// The longest real time that a call takes.
const BUDGET: Duration = Duration::from_secs(30);

impl Ways {
    /// Opens ways without faults. Returns the address that each gate calls, and its link.
    pub(super) async fn open(
        times: &[Time; REGIONS],
        stop: &CancellationToken,
    ) -> (Self, Vec<(String, Link)>) {
        let parts = Parts {
            random: Random(0),
            listeners: [None, None, None],
            homes: [0; REGIONS],
            is_cut: [false; REGIONS],
            faults_one_in: 0,
            can_be_late: false,
            late: Vec::new(),
            delay_us: 0,
            now: Micros(0),
            travelling: Vec::new(),
            runs: 0,
            faults: Faults::default(),
        };
        let ways = Self(Arc::new(Mutex::new(parts)));
        let mut links = Vec::new();
        for (caller, time) in times.iter().enumerate() {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = format!("http://{}", listener.local_addr().expect("it is bound"));
            let carry = move |State(ways): State<Self>, headers: HeaderMap, body: Bytes| async move {
                ways.carry(caller, headers, body).await
            };
            let app = Router::new().fallback(carry).with_state(ways.clone());
            let serving =
                axum::serve(listener.tap_io(|io| io.set_nodelay(true).expect("a socket")), app)
                    .with_graceful_shutdown(stop.clone().cancelled_owned());
            tokio::spawn(async move { serving.await.expect("it serves") });
            let clock = Clock::new({
                let time = time.clone();
                move || timestamp(&time)
            });
            let settings = LinkSettings { budget: BUDGET, keys: keys(), clock, random };
            let (link, task) = Link::new(settings, stop.clone()).expect("a client");
            link.set_gates(std::slice::from_ref(&address));
            tokio::spawn(task);
            links.push((address, link));
        }
        (ways, links)
    }

    pub(super) fn parts(&self) -> MutexGuard<'_, Parts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a gate listen in its region, in the place of the one before.
    pub(super) fn listen(&self, region: usize, state: &GateState, signal: &Signal) {
        let mut parts = self.parts();
        parts.runs += 1;
        let router = router(state.clone(), keys(), parts.runs, signal.clone());
        let settings = PlaneSettings { request_ids: RequestIds::new(|| 1), request_deadline: None };
        parts.listeners[region] = Some(Plane::new(router, settings));
    }

    async fn carry(&self, caller: usize, headers: HeaderMap, body: Bytes) -> Response {
        let call: Call<'_> = serde_json::from_slice(&body).expect("a call");
        let works = call.work.len();
        let home = self.parts().homes[caller];
        if works == 0 {
            return self.deliver(home, &headers, &body).await;
        }
        self.travel(caller, works).await;
        let fault = self.parts().fault(caller, home);
        let response = match fault {
            Fault::Refused => StatusCode::SERVICE_UNAVAILABLE.into_response(),
            Fault::LostCall => broken(),
            Fault::Late => {
                self.parts().late.push((home, headers, body));
                broken()
            }
            Fault::LostAnswer => {
                self.deliver(home, &headers, &body).await;
                broken()
            }
            Fault::None => self.deliver(home, &headers, &body).await,
            Fault::Repeated => {
                let first = self.deliver(home, &headers, &body).await;
                let second = self.deliver(home, &headers, &body).await;
                assert_eq!(second.status(), StatusCode::UNAUTHORIZED, "it does nothing");
                first
            }
        };
        self.travel(caller, works).await;
        response
    }

    async fn deliver(&self, home: usize, headers: &HeaderMap, body: &Bytes) -> Response {
        let mut request = Request::post(PATH).body(Body::from(body.clone())).expect("a request");
        request.headers_mut().clone_from(headers);
        let listener = self.parts().listeners[home].clone();
        match listener {
            Some(listener) => listener.answer(request).await,
            None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        }
    }

    /// Lets the calls arrive that come late. Returns their number.
    pub(super) async fn deliver_late(&self) -> u64 {
        let late = std::mem::take(&mut self.parts().late);
        let count = late.len() as u64;
        for (home, headers, body) in late {
            self.deliver(home, &headers, &body).await;
        }
        count
    }

    /// Waits until the time of one direction has passed.
    async fn travel(&self, caller: usize, works: usize) {
        let arrival = {
            let mut parts = self.parts();
            if parts.delay_us == 0 {
                return;
            }
            let (send, arrival) = oneshot::channel();
            let due = parts.now.0 + parts.delay_us;
            parts.travelling.push((caller, due, works, send));
            arrival
        };
        drop(arrival.await);
    }

    /// Lets everything arrive that is due.
    pub(super) fn arrive(&self, now: Micros) {
        let mut parts = self.parts();
        parts.now = now;
        for (_, _, _, arrival) in parts.travelling.extract_if(.., |(_, due, ..)| *due <= now.0) {
            // A caller that has gone does not wait.
            let _gone = arrival.send(());
        }
    }

    /// The numbers of calls and of works of a region that are on their way.
    pub(super) fn travelling(&self, region: usize) -> (usize, usize) {
        let parts = self.parts();
        let own = parts.travelling.iter().filter(|(caller, ..)| *caller == region);
        own.fold((0, 0), |(calls, works), (_, _, count, _)| (calls + 1, works + count))
    }
}

impl Parts {
    fn fault(&mut self, caller: usize, home: usize) -> Fault {
        self.faults.calls += 1;
        let is_cut = self.is_cut[caller] || self.is_cut[home];
        let drawn = if is_cut {
            self.random.between(0, 1)
        } else if self.faults_one_in > 0 && self.random.one_in(self.faults_one_in) {
            self.random.between(0, if self.can_be_late { 4 } else { 3 })
        } else {
            return Fault::None;
        };
        let faults = &mut self.faults;
        let (count, fault) = match drawn {
            0 => (&mut faults.refused, Fault::Refused),
            1 => (&mut faults.lost_calls, Fault::LostCall),
            2 => (&mut faults.lost_answers, Fault::LostAnswer),
            3 => (&mut faults.repeated, Fault::Repeated),
            _ => (&mut faults.late, Fault::Late),
        };
        *count += 1;
        fault
    }
}

/// An answer that breaks off.
fn broken() -> Response {
    Body::from_stream(stream::iter([Err::<Bytes, _>(io::Error::other("cut"))])).into_response()
}

fn keys() -> RegionKeys {
    RegionKeys::new(&[RegionKey::derive(b"simulation")]).expect("a key")
}

/// Fills a slice with numbers that no other link has.
fn random(bytes: &mut [u8]) {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    bytes.copy_from_slice(&number.to_be_bytes()[8 - bytes.len()..]);
}
