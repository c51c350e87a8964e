//! A TCP relay in front of a server. It causes the fault that no signal to a process can cause: a network that silently drops
//! the packets of the existing connections, while new ones work.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

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
    links: Mutex<Vec<Link>>,
}

#[derive(Debug)]
struct Link {
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
        for link in self.shared.links().drain(..) {
            link.ends.iter().for_each(|end| drop(end.shutdown(Shutdown::Both)));
        }
    }
}

impl Shared {
    fn links(&self) -> std::sync::MutexGuard<'_, Vec<Link>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(&self, listener: &TcpListener) {
        for client in listener.incoming().flatten() {
            if self.ended.load(Ordering::SeqCst) {
                return;
            }
            let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.target)) else {
                continue;
            };
            drop((client.set_nodelay(true), server.set_nodelay(true)));
            let silent = Arc::new(AtomicBool::new(self.deaf.load(Ordering::SeqCst)));
            let both = || Some([client.try_clone().ok()?, server.try_clone().ok()?]);
            let (Some(ends), Some([from, to])) = (both(), both()) else { continue };
            self.links().push(Link { silent: Arc::clone(&silent), ends });
            let answers = Arc::clone(&silent);
            thread::spawn(move || pass(from, to, &silent));
            thread::spawn(move || pass(server, client, &answers));
        }
    }
}

/// Forwards bytes until one side ends. On a silent connection, it reads and drops the bytes and does not forward the end.
fn pass(mut from: TcpStream, mut to: TcpStream, silent: &AtomicBool) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if !silent.load(Ordering::SeqCst) && to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    if !silent.load(Ordering::SeqCst) {
        drop(to.shutdown(Shutdown::Both));
    }
}
