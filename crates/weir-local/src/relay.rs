//! A TCP relay in front of a server. It causes the faults that no signal to a process can cause: a network that is slow, that
//! silently drops the packets of the existing connections while new ones work, or that cuts connections.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::LocalError;

/// A relay on a loopback port. Dropping it closes its connections.
#[derive(Debug)]
pub struct Relay {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: u16,
    ended: AtomicBool,
    /// Whether new connections are silent from the start.
    deaf: AtomicBool,
    /// The time by which bytes are delayed in each direction, in microseconds.
    delay_us: AtomicU64,
    /// See [`Relay::round_trips`].
    round_trips: AtomicU64,
    /// The address whose connections are silent.
    isolated: Mutex<Option<IpAddr>>,
    links: Mutex<Vec<Link>>,
}

#[derive(Debug)]
struct Link {
    from: IpAddr,
    silent: Arc<AtomicBool>,
    ends: [TcpStream; 2],
}

impl Relay {
    /// Starts a relay to a port of loopback.
    pub fn start(target: u16) -> Result<Self, LocalError> {
        let failed = |source| LocalError::Spawn { program: "the relay".to_owned(), source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let shared = Arc::new(Shared {
            target,
            ended: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
            delay_us: AtomicU64::new(0),
            round_trips: AtomicU64::new(0),
            isolated: Mutex::default(),
            links: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accepting.accept(&listener));
        Ok(Self { port, shared })
    }

    /// The port of the relay.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Drops all bytes of the existing connections without closing them. New connections work. Returns the number of silenced
    /// connections.
    pub fn silence(&self) -> usize {
        let links = self.shared.links();
        links.iter().for_each(|link| link.silent.store(true, Ordering::SeqCst));
        links.len()
    }

    /// Delays bytes so that a round trip takes this much longer. Bytes keep their order, and at most 4 MiB are on their way in
    /// each direction of a connection.
    pub fn set_round_trip(&self, round_trip: Duration) {
        let each_way = u64::try_from(round_trip.as_micros() / 2).unwrap_or(u64::MAX);
        self.shared.delay_us.store(each_way, Ordering::SeqCst);
    }

    /// The number of times that the server replied after its client had sent something, on all connections. A handshake of TCP
    /// is not counted.
    pub fn round_trips(&self) -> u64 {
        self.shared.round_trips.load(Ordering::SeqCst)
    }

    /// Closes the existing connections. New connections work. Returns the number of closed connections.
    pub fn cut(&self) -> usize {
        let links: Vec<_> = self.shared.links().drain(..).collect();
        for end in links.iter().flat_map(|link| &link.ends) {
            drop(end.shutdown(Shutdown::Both));
        }
        links.len()
    }

    /// Drops all bytes of the connections from this address, existing and new, as a partition of the network does.
    pub fn isolate(&self, address: IpAddr) {
        let links = self.shared.links();
        *self.shared.isolated() = Some(address);
        for link in links.iter().filter(|link| link.from == address) {
            link.silent.store(true, Ordering::SeqCst);
        }
    }

    /// Ends the isolation of an address. Its connections end, because bytes of them were lost.
    pub fn rejoin(&self) {
        let Some(address) = self.shared.isolated().take() else { return };
        for link in self.shared.links().iter().filter(|link| link.from == address) {
            for end in &link.ends {
                drop(end.shutdown(Shutdown::Both));
            }
        }
    }

    /// Sets whether new connections are silent from the start.
    pub fn set_deaf(&self, deaf: bool) {
        self.shared.deaf.store(deaf, Ordering::SeqCst);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts connections.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
        self.cut();
    }
}

impl Shared {
    fn links(&self) -> std::sync::MutexGuard<'_, Vec<Link>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn isolated(&self) -> std::sync::MutexGuard<'_, Option<IpAddr>> {
        self.isolated.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming().flatten() {
            if self.ended.load(Ordering::SeqCst) {
                return;
            }
            let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.target)) else {
                continue;
            };
            drop((client.set_nodelay(true), server.set_nodelay(true)));
            let Ok(from) = client.peer_addr().map(|address| address.ip()) else { continue };
            let both = || Some([client.try_clone().ok()?, server.try_clone().ok()?]);
            let (Some(ends), Some([inward, outward])) = (both(), both()) else { continue };
            // Held from the decision on, so that no isolation misses the connection.
            let mut links = self.links();
            let silent = self.deaf.load(Ordering::SeqCst) || *self.isolated() == Some(from);
            let silent = Arc::new(AtomicBool::new(silent));
            links.push(Link { from, silent: Arc::clone(&silent), ends });
            drop(links);
            let asked = Arc::new(AtomicBool::new(false));
            for (from, to, asks) in [(inward, outward, true), (server, client, false)] {
                let (sender, receiver) = mpsc::sync_channel(QUEUE_MAX);
                let (silent, writer) = (Arc::clone(&silent), Arc::clone(&silent));
                let (shared, asked) = (Arc::clone(self), Arc::clone(&asked));
                thread::spawn(move || {
                    read(from, &sender, &silent, || {
                        shared.count_turn(&asked, asks);
                        shared.delay()
                    });
                });
                thread::spawn(move || write(to, &receiver, &writer));
            }
        }
    }

    /// Counts a round trip when the first bytes of a reply pass.
    fn count_turn(&self, asked: &AtomicBool, asks: bool) {
        if asked.swap(asks, Ordering::SeqCst) && !asks {
            self.round_trips.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn delay(&self) -> Duration {
        Duration::from_micros(self.delay_us.load(Ordering::SeqCst))
    }
}

/// The most bytes that are read at once.
const READ_MAX: usize = 16 * 1024;
/// The most reads on their way in each direction of a connection. Further bytes wait at the sender.
const QUEUE_MAX: usize = 256;

/// Bytes, and the time at which they arrive.
type Delayed = (Instant, Vec<u8>);

/// Reads bytes until one side ends. `delay` returns the delay of some bytes. On a silent connection, it drops them.
fn read(
    mut from: TcpStream,
    to: &mpsc::SyncSender<Delayed>,
    silent: &AtomicBool,
    delay: impl Fn() -> Duration,
) {
    let mut bytes = [0; READ_MAX];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let arrival = Instant::now() + delay();
        if !silent.load(Ordering::SeqCst) && to.send((arrival, bytes[..count].to_vec())).is_err() {
            break;
        }
    }
}

/// Writes bytes when they arrive, and forwards the end of the connection unless it is silent.
fn write(mut to: TcpStream, from: &mpsc::Receiver<Delayed>, silent: &AtomicBool) {
    while let Ok((arrival, bytes)) = from.recv() {
        while let Some(left) = arrival.checked_duration_since(Instant::now()) {
            thread::park_timeout(left);
        }
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    if !silent.load(Ordering::SeqCst) {
        drop(to.shutdown(Shutdown::Both));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that returns every byte.
    fn echo() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    let mut byte = [0];
                    while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
                });
            }
        });
        port
    }

    #[test]
    fn bytes_are_delayed_in_order_and_cut_connections_end() {
        let relay = Relay::start(echo()).expect("it starts");
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port())).expect("accepted");
        relay.set_round_trip(Duration::from_millis(40));
        let (sent, mut returned) = (Instant::now(), [0; 3]);
        stream.write_all(b"abc").expect("written");
        stream.read_exact(&mut returned).expect("returned");
        assert_eq!(&returned, b"abc");
        assert!(sent.elapsed() >= Duration::from_millis(40), "{:?}", sent.elapsed());
        assert_eq!(relay.round_trips(), 1, "three replies to one message");
        for sent in [b"d", b"e"] {
            stream.write_all(sent).expect("written");
            stream.read_exact(&mut returned[..1]).expect("returned");
        }
        assert_eq!(relay.round_trips(), 3);
        assert_eq!(relay.cut(), 1);
        assert_eq!(stream.read(&mut returned).unwrap_or(0), 0);
    }

    #[test]
    fn delayed_bytes_overlap_and_fill_no_more_than_the_queue() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        let relay = Relay::start(port).expect("it starts");
        relay.set_round_trip(Duration::from_millis(200));
        let mut sender = TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port())).expect("accepted");
        let (mut receiver, _) = listener.accept().expect("the relay connects");
        let sent: Vec<u8> = (0..=u8::MAX).cycle().take(8 * READ_MAX * QUEUE_MAX).collect();
        let began = Instant::now();
        let received = thread::scope(|threads| {
            threads.spawn(|| sender.write_all(&sent).expect("written"));
            let mut received = vec![0; sent.len()];
            receiver.read_exact(&mut received).expect("all bytes");
            received
        });
        assert!(received == sent, "the order is that of the sender");
        // A queue is full after 4 of the 32 MiB. One read after the other would take minutes.
        let took = began.elapsed();
        assert!((Duration::from_millis(600)..Duration::from_mins(1)).contains(&took), "{took:?}");
    }
}
