//! Opens ports.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// The most connections that wait in the operating system to be accepted. Its own bound can be lower.
pub const BACKLOG: u32 = 4096;

/// Opens a port with a backlog for bursts of connections.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restarted process can use its port while connections of the previous one are still closing.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
