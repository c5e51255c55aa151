//! TLS for connections to the database, by rustls with the certificates of the system.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};

use crate::error::OpenError;

/// Makes TLS connections. The certificate of the server is always verified.
#[derive(Clone)]
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
}

impl Tls {
    /// Returns TLS that trusts the certificates of a PEM file, or else those of the system.
    pub(crate) fn new(root_file: Option<&Path>) -> Result<Self, OpenError> {
        let failed = |reason: String| OpenError::Address { reason };
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(error.to_string()))?;
        let builder = match root_file {
            None => builder.with_platform_verifier().map_err(|error| failed(error.to_string()))?,
            Some(path) => {
                let read = |reason: String| failed(format!("sslrootcert {}: {reason}", path.display()));
                let mut roots = rustls::RootCertStore::empty();
                let certificates = CertificateDer::pem_file_iter(path).map_err(|error| read(error.to_string()))?;
                for certificate in certificates {
                    let certificate = certificate.map_err(|error| read(error.to_string()))?;
                    roots.add(certificate).map_err(|error| read(error.to_string()))?;
                }
                builder.with_root_certificates(roots)
            }
        };
        Ok(Self { config: Arc::new(builder.with_no_client_auth()) })
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = TlsStream;
    type TlsConnect = Connector;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Connector> {
        let name = ServerName::try_from(domain.to_owned()).map_err(io::Error::other)?;
        Ok(Connector { connector: tokio_rustls::TlsConnector::from(Arc::clone(&self.config)), name })
    }
}

/// Makes one connection.
pub(crate) struct Connector {
    connector: tokio_rustls::TlsConnector,
    name: ServerName<'static>,
}

impl TlsConnect<Socket> for Connector {
    type Stream = TlsStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TlsStream>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move {
            let stream = self.connector.connect(self.name, stream).await?;
            Ok(TlsStream(Box::new(stream)))
        })
    }
}

/// An encrypted connection.
pub(crate) struct TlsStream(Box<tokio_rustls::client::TlsStream<Socket>>);

impl tokio_postgres::tls::TlsStream for TlsStream {
    /// The certificate is verified, so a password is not bound to the channel.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for TlsStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for TlsStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
