use super::*;
use crate::settings::{Origin, Raw};
use std::os::unix::fs::PermissionsExt;

fn settings(data: &Path, more: &[(&str, &Path)]) -> Settings {
    let mut raw = Raw::default();
    raw.set("data", data.to_str().unwrap(), Origin::Flag).unwrap();
    for (key, path) in more {
        raw.set(key, path.to_str().unwrap(), Origin::Flag).unwrap();
    }
    Settings::check(&raw).unwrap()
}

#[test]
fn the_certificate_is_made_once_and_its_key_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let first = Tls::load(&settings(folder.path(), &[])).unwrap();
    assert_eq!(first.grpc.alpn_protocols, [b"h2".to_vec()]);
    assert!(first.remoting.alpn_protocols.is_empty());
    let mode = std::fs::metadata(folder.path().join(KEY_FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let made = std::fs::read(&first.cert).unwrap();
    let second = Tls::load(&settings(folder.path(), &[])).unwrap();
    assert_eq!(std::fs::read(second.cert).unwrap(), made);
}

#[test]
fn half_a_pair_left_by_a_crash_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    Tls::load(&settings(folder.path(), &[])).unwrap();
    std::fs::remove_file(folder.path().join(CERT_FILE)).unwrap();
    std::fs::write(folder.path().join("tls-key.new"), "half").unwrap();
    assert!(Tls::load(&settings(folder.path(), &[])).is_ok());
}

#[test]
fn a_certificate_of_the_users_is_used_and_a_bad_one_named() {
    let folder = tempfile::tempdir().unwrap();
    let own = Tls::load(&settings(folder.path(), &[])).unwrap().cert;
    let key = folder.path().join(KEY_FILE);
    let elsewhere = tempfile::tempdir().unwrap();
    let loaded = Tls::load(&settings(elsewhere.path(), &[("tls_cert", &own), ("tls_key", &key)])).unwrap();
    assert_eq!(loaded.cert, own);
    assert!(!elsewhere.path().join(CERT_FILE).exists());

    let said = Tls::load(&settings(elsewhere.path(), &[("tls_cert", &key), ("tls_key", &key)]))
        .unwrap_err()
        .to_string();
    assert!(said.contains("tls_cert"), "{said}");
    let missing = folder.path().join("missing.pem");
    let said =
        Tls::load(&settings(elsewhere.path(), &[("tls_cert", &own), ("tls_key", &missing)])).unwrap_err();
    assert!(said.to_string().contains("missing.pem") && said.to_string().contains("tls_key"), "{said}");
}

/// The certificate that a client is shown.
fn seen(tls: &Tls) -> CertificateDer<'static> {
    tls.shown.0.read().unwrap().cert[0].clone()
}

#[test]
fn a_replaced_certificate_is_shown_and_one_that_does_not_fit_its_key_is_not() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tls = Tls::load(&settings(folder.path(), &[])).unwrap();
    let next = Tls::load(&settings(other.path(), &[])).unwrap();
    let (first, second) = (seen(&tls), seen(&next));
    assert_ne!(first, second);
    std::fs::copy(&next.cert, &tls.cert).unwrap();
    let refused = tls.reload().unwrap_err().to_string();
    assert!(refused.contains(CERT_FILE) && refused.contains(KEY_FILE), "{refused}");
    assert_eq!(seen(&tls), first, "the pair before is still shown");
    std::fs::copy(&next.key, &tls.key).unwrap();
    tls.reload().unwrap();
    assert_eq!(seen(&tls), second);
    std::fs::remove_file(&tls.cert).unwrap();
    assert_eq!(written(&tls.cert), None);
    assert!(tls.reload().is_err());
    assert_eq!(seen(&tls), second);
}
