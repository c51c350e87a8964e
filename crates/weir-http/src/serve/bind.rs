//! Opening a port.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// Connections that the operating system holds until they are accepted, if its own bound allows so many.
pub const BACKLOG: u32 = 4096;

/// Opens a port with a backlog that takes a burst of connections.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restarted process gets its port back while connections of the former one still linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
