//! A certificate of the operator's own, and its replacement.

use crate::process::Server;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Far longer than the server takes to look at its files.
const LIMIT: Duration = Duration::from_secs(60);

fn make(cert: &Path, key: &Path) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(key, made.signing_key.serialize_pem()).unwrap();
    std::fs::write(cert, made.cert.pem()).unwrap();
}

/// Whether a client that trusts this certificate alone comes in at the port.
fn comes_in(trusted: &CertificateDer<'static>, port: u16) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.complete_io(&mut stream).is_ok()
}

#[test]
fn a_certificate_of_the_operators_is_shown_and_replaced_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    make(&cert, &key);
    let of = |flag: &str, path: &Path| format!("{flag}={}", path.display());
    let (set_cert, set_key) = (of("tls_cert", &cert), of("tls_key", &key));
    let server = Server::ready(&folder.path().join("data"), &["--set", &set_cert, "--set", &set_key]);
    let ports = ["name server", "broker: ", "proxy: ", "gRPC: "].map(|words| server.port(words));
    let first = CertificateDer::from_pem_file(&cert).unwrap();
    assert!(ports.iter().all(|&port| comes_in(&first, port)), "it is shown at every port");
    make(&cert, &key);
    let second = CertificateDer::from_pem_file(&cert).unwrap();
    let began = Instant::now();
    while !comes_in(&second, ports[0]) {
        assert!(began.elapsed() < LIMIT, "the replaced certificate is not shown");
    }
    for port in ports {
        assert!(comes_in(&second, port) && !comes_in(&first, port));
    }
    server.stop();
}
