use super::*;
use crate::settings::{Origin, Raw, Settings};
use crate::tls::Tls;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use std::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

fn settings(data: &Path, more: &[(&str, &str)]) -> Settings {
    let mut raw = Raw::default();
    let free = [("namesrv_port", "0"), ("broker_port", "0"), ("proxy_port", "0"), ("grpc_port", "0")];
    raw.set("data", data.to_str().unwrap(), Origin::Default).unwrap();
    for (key, text) in free.iter().chain(more) {
        let origin = if more.contains(&(key, text)) { Origin::Flag } else { Origin::File("test".into()) };
        raw.set(key, text, origin).unwrap();
    }
    Settings::check(&raw).unwrap()
}

#[tokio::test]
async fn a_port_in_use_is_named_with_the_way_to_move_it() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let error = bind(&settings(folder.path(), &[("grpc_port", &port)])).unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, BindError::InUse { door: Door::Grpc, .. }));
    for word in [port.as_str(), "grpc_port", "--grpc-port", "127.0.0.1"] {
        assert!(said.contains(word), "{said}");
    }
}

/// One port that answers what it is sent, and where it is.
fn echo(
    settings: &Settings,
    room: Room,
    stop: CancellationToken,
) -> (SocketAddr, mpsc::Receiver<Option<OpenError>>) {
    let tls = Tls::load(settings).unwrap();
    let listener = bind(settings).unwrap().remove(0);
    let address = listener.address;
    let (tell, told) = mpsc::channel(16);
    tokio::spawn(accept(listener, room, stop, move |stream, _, place| {
        let (tls, tell) = (Arc::clone(&tls.grpc), tell.clone());
        tokio::spawn(async move {
            let mut io = match open(stream, place, tls).await {
                Ok(io) => io,
                Err(error) => return tell.send(Some(error)).await.unwrap(),
            };
            let mut heard = [0; 5];
            io.read_exact(&mut heard).await.unwrap();
            io.write_all(&heard).await.unwrap();
            io.shutdown().await.unwrap();
            tell.send(None).await.unwrap();
        });
    }));
    (address, told)
}

async fn says_hello_back(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    stream.write_all(b"hello").await.unwrap();
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).await.unwrap();
    assert_eq!(heard, b"hello");
}

use tokio::io::{AsyncRead, AsyncWrite};

#[tokio::test]
async fn plaintext_and_tls_come_in_by_the_same_port() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path(), &[]);
    let (address, _told) = echo(&settings, Room::new(10), CancellationToken::new());
    says_hello_back(TcpStream::connect(address).await.unwrap()).await;

    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.path().join("tls-cert.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.alpn_protocols = vec![b"h2".to_vec()];
    let connector = tokio_rustls::TlsConnector::from(Arc::new(client));
    for name in ["localhost", "127.0.0.1"] {
        let stream = TcpStream::connect(address).await.unwrap();
        let stream = connector.connect(ServerName::try_from(name).unwrap(), stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        says_hello_back(stream).await;
    }
}

#[tokio::test]
async fn a_client_of_http_2_is_known_by_its_first_byte() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path(), &[]);
    let tls = Tls::load(&settings).unwrap();
    let listener = bind(&settings).unwrap().remove(0);
    let room = Room::new(2);
    // The other begins as a remoting frame of 91 bytes does.
    for (said, http2) in [(&b"PRI * HTTP/2.0"[..], true), (&[0, 0, 0, 91], false)] {
        let mut client = TcpStream::connect(listener.address).await.unwrap();
        client.write_all(said).await.unwrap();
        let (stream, _) = listener.tcp.accept().await.unwrap();
        let mut io = open(stream, room.place().await, Arc::clone(&tls.grpc)).await.unwrap();
        assert_eq!(io.speaks_http2(), http2);
        let mut heard = vec![0; said.len()];
        io.read_exact(&mut heard).await.unwrap();
        assert_eq!(heard, said, "nothing of it is lost");
    }
}

#[tokio::test]
async fn a_client_that_leaves_or_stumbles_is_told_apart_and_gives_its_place_back() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path(), &[]);
    let (address, mut told) = echo(&settings, Room::new(1), CancellationToken::new());
    drop(TcpStream::connect(address).await.unwrap());
    assert!(matches!(told.recv().await, Some(Some(OpenError::Left))));
    let mut stumbling = TcpStream::connect(address).await.unwrap();
    stumbling.write_all(&[0x16; 64]).await.unwrap();
    assert!(matches!(told.recv().await, Some(Some(OpenError::Io(_)))));
    says_hello_back(TcpStream::connect(address).await.unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_and_one_stuck_in_its_handshake_are_let_go() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path(), &[]);
    let tls = Tls::load(&settings).unwrap();
    let listener = bind(&settings).unwrap().remove(0);
    let room = Room::new(2);
    let silent = TcpStream::connect(listener.address).await.unwrap();
    let (stream, _) = listener.tcp.accept().await.unwrap();
    assert!(matches!(open(stream, room.place().await, Arc::clone(&tls.grpc)).await, Err(OpenError::Silent)));
    drop(silent);
    let mut client = TcpStream::connect(listener.address).await.unwrap();
    let (stream, _) = listener.tcp.accept().await.unwrap();
    client.write_all(&[0x16]).await.unwrap();
    assert!(matches!(open(stream, room.place().await, tls.grpc).await, Err(OpenError::SlowHandshake)));
}

#[tokio::test]
async fn who_comes_beyond_the_bound_waits_until_a_place_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path(), &[]);
    let (address, mut told) = echo(&settings, Room::new(1), CancellationToken::new());
    let mut first = TcpStream::connect(address).await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    second.write_all(b"world").await.unwrap();
    first.write_all(b"hello").await.unwrap();
    let mut heard = [0; 5];
    first.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"hello");
    assert!(told.recv().await.unwrap().is_none());
    second.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"world");
}

#[tokio::test]
async fn a_stopped_port_accepts_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let stop = CancellationToken::new();
    let listener = bind(&settings(folder.path(), &[])).unwrap().remove(0);
    let address = listener.address;
    let accepting = tokio::spawn(accept(listener, Room::new(1), stop.clone(), |_, _, _| ()));
    stop.cancel();
    accepting.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[test]
fn a_port_that_two_of_ours_would_have_is_named_with_both() {
    let ports = Ports { namesrv: 9876, broker: 9878, proxy: 8080, grpc: 8081 };
    let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let said = in_use(Door::BrokerSecond, local(9876), ports).to_string();
    for words in ["port 9876 is meant for two", "namesrv_port", "broker_port"] {
        assert!(said.contains(words), "{words:?} is missing in {said}");
    }
    let said = in_use(Door::Grpc, local(8081), ports).to_string();
    assert!(said.contains("another program") && said.contains("grpc_port"), "{said}");
}
