//! The server's certificate: the user's own, or one made at the first start and kept in the data folder.
//!
//! Some RocketMQ clients use TLS unless told otherwise and accept any certificate; a self-signed one lets them
//! in without a word. Whoever wants more than that brings a certificate.
//!
//! The files are looked at while the server runs: a certificate that was replaced is shown to whoever comes next.
//! Connections that are open keep theirs.

use crate::listen::HTTP2;
use crate::settings::{OwnCertificate, Settings};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

const CERT_FILE: &str = "tls-cert.pem";
const KEY_FILE: &str = "tls-key.pem";

/// How TLS is spoken at each kind of door.
#[derive(Clone, Debug)]
pub struct Tls {
    /// At the gRPC port and the proxy's: HTTP/2 is agreed on in the handshake where the client asks for it, as
    /// gRPC's do and remoting's do not.
    pub grpc: Arc<ServerConfig>,
    /// At the other remoting ports: nothing is agreed on.
    pub remoting: Arc<ServerConfig>,
    /// The certificate's file, for people who want their clients to check it.
    pub cert: PathBuf,
    key: PathBuf,
    /// How the two files were when they were read.
    written: [Option<Written>; 2],
    shown: Arc<Shown>,
}

/// When a file was written last, and how many bytes it has.
type Written = (SystemTime, u64);

/// How often the certificate's files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The certificate that clients are shown.
#[derive(Debug)]
struct Shown(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Why there is no certificate to show.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is no PEM of that kind.
    #[error("reading the {what} {} (setting {key})", path.display())]
    Read {
        /// `certificate` or `private key`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The setting that names another one.
        key: &'static str,
        /// Why not.
        source: pem::Error,
    },
    /// The file of certificates holds none.
    #[error("{} (setting tls_cert) holds no certificate", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// The two do not fit, or are of a kind that is not known.
    #[error("using the certificate {} with the key {}", cert.display(), key.display())]
    Unusable {
        /// The certificate's file.
        cert: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// Why not.
        source: rustls::Error,
    },
    /// No certificate could be made.
    #[error("making a certificate")]
    Make(#[from] rcgen::Error),
    /// The one made could not be saved.
    #[error("writing {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl Tls {
    /// The user's certificate, or the data folder's, which is made where it is missing.
    pub fn load(settings: &Settings) -> Result<Self, TlsError> {
        let OwnCertificate { cert, key } = match &settings.certificate {
            Some(own) => own.clone(),
            None => saved_or_made(&settings.data, settings.advertise)?,
        };
        // First, so that no change in between goes unseen.
        let written = [written(&cert), written(&key)];
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let shown = Arc::new(Shown(RwLock::new(Arc::new(read(&cert, &key, &provider)?))));
        let resolver: Arc<dyn ResolvesServerCert> = Arc::clone(&shown) as _;
        let remoting = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|source| TlsError::Unusable { cert: cert.clone(), key: key.clone(), source })?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        let mut grpc = remoting.clone();
        grpc.alpn_protocols = vec![HTTP2.to_vec()];
        Ok(Self { grpc: Arc::new(grpc), remoting: Arc::new(remoting), cert, key, written, shown })
    }

    /// Looks at the files for ever, and shows what was replaced. What cannot be used is told of once, and the
    /// certificate before it stays.
    pub async fn watch(self) {
        let mut seen = self.written;
        let mut every = tokio::time::interval(LOOK_EVERY);
        loop {
            every.tick().await;
            let now = [written(&self.cert), written(&self.key)];
            if now == seen {
                continue;
            }
            seen = now;
            match self.reload() {
                Ok(()) => {
                    tracing::info!(cert = %self.cert.display(), "the certificate was replaced; who comes now is shown it");
                }
                Err(error) => tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the certificate's files have changed and cannot be used; the one before is still shown"
                ),
            }
        }
    }

    /// Reads the files again, and shows what they hold.
    fn reload(&self) -> Result<(), TlsError> {
        let key = read(&self.cert, &self.key, &rustls::crypto::ring::default_provider())?;
        *self.shown.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
        Ok(())
    }
}

/// How a file is now; nothing where there is none.
fn written(path: &Path) -> Option<Written> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// A certificate and its key, which must fit.
fn read(cert: &Path, key: &Path, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let unread = |what, path: &Path, key, source| TlsError::Read { what, path: path.to_owned(), key, source };
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|source| unread("certificate", cert, "tls_cert", source))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { path: cert.to_owned() });
    }
    let private =
        PrivateKeyDer::from_pem_file(key).map_err(|source| unread("private key", key, "tls_key", source))?;
    CertifiedKey::from_der(chain, private, provider).map_err(|source| TlsError::Unusable {
        cert: cert.to_owned(),
        key: key.to_owned(),
        source,
    })
}

/// The data folder's certificate. Only where both files are there it is used again: half a pair is made anew.
fn saved_or_made(data: &Path, advertise: IpAddr) -> Result<OwnCertificate, TlsError> {
    let own = OwnCertificate { cert: data.join(CERT_FILE), key: data.join(KEY_FILE) };
    if own.cert.is_file() && own.key.is_file() {
        return Ok(own);
    }
    let mut names =
        vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned(), advertise.to_string()];
    names.extend(host_name().filter(|name| name.is_ascii()));
    names.sort_unstable();
    names.dedup();
    let made = rcgen::generate_simple_self_signed(names)?;
    // The certificate comes last: a crash in between leaves half a pair, which is made anew.
    write(&own.key, &made.signing_key.serialize_pem(), 0o600)?;
    write(&own.cert, &made.cert.pem(), 0o644)?;
    Ok(own)
}

/// This machine's name, where it has one.
pub fn host_name() -> Option<String> {
    hostname::get().ok()?.into_string().ok().filter(|name| !name.is_empty())
}

/// Writes a whole file under another name and then renames it, so that no half one is ever met; never readable
/// for longer than `mode` says.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), TlsError> {
    let unsaved = path.with_extension("new");
    let save = || {
        match std::fs::remove_file(&unsaved) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&unsaved)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&unsaved, path)
    };
    save().map_err(|source| TlsError::Write { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
