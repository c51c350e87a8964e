//! TLS of a listener: a certificate and its key in files, which are read again when they change.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};

use rustls::RootCertStore;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The files of a listener's TLS, all in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of the listener, and those of the authorities between it and the root.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// The certificates of the authorities that sign the certificates of clients. `None`: clients need none.
    pub client_authority: Option<PathBuf>,
}

/// The certificate that a listener presents now.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    http1: bool,
    loaded: RwLock<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    contents: Contents,
    acceptor: Arc<ServerConfig>,
}

/// The bytes of the files: certificate, key and client authority.
type Contents = [Vec<u8>; 3];

/// The reason why files cannot be used. It contains nothing of their contents.
#[derive(Debug)]
pub enum TlsError {
    Unreadable(PathBuf, io::Error),
    /// The file has none of these, or they are malformed.
    Without(&'static str, PathBuf),
    /// The certificate and the key do not belong together, or are of a kind that is not supported.
    Unusable(PathBuf, String),
}

impl Tls {
    /// Reads the files. Clients of a listener without `http1` negotiate HTTP/2 only.
    pub fn load(files: TlsFiles, http1: bool) -> Result<Self, TlsError> {
        let contents = read(&files)?;
        let acceptor = configure(&files, &contents, http1)?;
        Ok(Self { files, http1, loaded: RwLock::new(Loaded { contents, acceptor }) })
    }

    /// Reads the files again. New connections use what they contain; if it cannot be used, what was read before. Returns
    /// whether the files have changed.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let contents = read(&self.files)?;
        if self.loaded.read().unwrap_or_else(PoisonError::into_inner).contents == contents {
            return Ok(false);
        }
        let acceptor = configure(&self.files, &contents, self.http1)?;
        let loaded = Loaded { contents, acceptor };
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(true)
    }

    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<Stream> {
        let acceptor = {
            let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
            TlsAcceptor::from(Arc::clone(&loaded.acceptor))
        };
        Ok(Stream::Tls(Box::new(acceptor.accept(stream).await?)))
    }
}

fn read(files: &TlsFiles) -> Result<Contents, TlsError> {
    let content =
        |path: &Path| fs::read(path).map_err(|error| TlsError::Unreadable(path.to_owned(), error));
    let authority = files.client_authority.as_deref().map(content).transpose()?;
    Ok([content(&files.certificate)?, content(&files.key)?, authority.unwrap_or_default()])
}

fn configure(
    files: &TlsFiles,
    [certificate, key, authority]: &Contents,
    http1: bool,
) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let chain = certificates(&files.certificate, certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|_| TlsError::Without("private key", files.key.clone()))?;
    let unusable =
        |error: rustls::Error| TlsError::Unusable(files.certificate.clone(), error.to_string());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let builder = match &files.client_authority {
        None => builder.with_no_client_auth(),
        Some(path) => builder.with_client_cert_verifier(verifier(path, authority, provider)?),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(unusable)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    if http1 {
        config.alpn_protocols.push(b"http/1.1".to_vec());
    }
    Ok(Arc::new(config))
}

/// Requires a certificate that one of these authorities signed.
fn verifier(
    path: &Path,
    authority: &[u8],
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, TlsError> {
    let unusable =
        |error: &dyn fmt::Display| TlsError::Unusable(path.to_owned(), error.to_string());
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path, authority)? {
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| unusable(&error))
}

fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let none = || TlsError::Without("certificate", path.to_owned());
    found.ok().filter(|found| !found.is_empty()).ok_or_else(none)
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::Without(what, path) => write!(f, "{} has no {what} in PEM", path.display()),
            Self::Unusable(path, reason) => write!(f, "cannot use {}: {reason}", path.display()),
        }
    }
}

impl std::error::Error for TlsError {}

/// The bytes of a connection, decrypted.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Calls the same method of the stream of either kind.
macro_rules! of_stream {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream.get_mut() {
            Stream::Plain(stream) => {
                let $inner = Pin::new(stream);
                $call
            }
            Stream::Tls(stream) => {
                let $inner = Pin::new(stream.as_mut());
                $call
            }
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        of_stream!(self, stream => stream.poll_read(cx, buf))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        of_stream!(self, stream => stream.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        of_stream!(self, stream => stream.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_stream!(self, stream => stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_stream!(self, stream => stream.poll_shutdown(cx))
    }
}
