//! Files of certificates that change, break and come right, as a mounted Secret lets them.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use controller_kit::tls::{
    CallerCertificate, CertificateFacts, ClientFiles, ClientTls, LOOK_EVERY, NamedFile, Reloading, ServerFiles,
    ServerTls, TlsError, secret_text,
};
use controller_kit::{Clock, Metrics};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType, date_time_ymd};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{CertificateError, ClientConnection, Error, ServerConnection};

const FAILURES: &str = "failover_tls_reload_failures_total";
const NOT_AFTER: &str = "failover_tls_certificate_not_after_timestamp_seconds";

struct Pair {
    certificate: String,
    key: String,
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    authority_of(name, (2000, 3000))
}

fn authority_of(name: &str, years: (i32, i32)) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = params(name, years);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn params(name: &str, (from, to): (i32, i32)) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.subject_alt_names = vec![SanType::DnsName(name.try_into().unwrap())];
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(to, 1, 1);
    params
}

fn pair(authority: &CertifiedIssuer<'static, KeyPair>, name: &str, years: (i32, i32)) -> Pair {
    let key = KeyPair::generate().unwrap();
    let certificate = params(name, years).signed_by(&key, authority).unwrap();
    Pair {
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    }
}

/// A Secret as kubelet mounts it: files are links into a folder that is swapped as a whole.
struct Mount {
    folder: tempfile::TempDir,
    versions: u32,
}

impl Mount {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Self { folder, versions: 0 };
        mount.write(files);
        for (name, _) in files {
            symlink(format!("..data/{name}"), mount.path(name)).unwrap();
        }
        mount
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&mut self, files: &[(&str, &str)]) {
        self.versions += 1;
        let version = format!("..version{}", self.versions);
        let folder = self.path(&version);
        std::fs::create_dir(&folder).unwrap();
        for (name, content) in files {
            std::fs::write(folder.join(name), content).unwrap();
        }
        let next = self.path("..next");
        symlink(Path::new(&version), &next).unwrap();
        std::fs::rename(&next, self.path("..data")).unwrap();
    }

    fn write_pair(&mut self, pair: &Pair) {
        self.write(&[("tls.crt", &pair.certificate), ("tls.key", &pair.key)]);
    }
}

fn clock() -> Clock {
    Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap())
}

fn server(mount: &Mount, clock: &Clock) -> Result<Reloading<ServerTls>, TlsError> {
    let files = ServerFiles {
        certificate: NamedFile::new("--cert", mount.path("tls.crt")),
        key: NamedFile::new("--key", mount.path("tls.key")),
        callers: None,
        protocols: &["h2"],
    };
    files.load("test server", clock)
}

fn mounted(pair: &Pair) -> Mount {
    Mount::new(&[("tls.crt", &pair.certificate), ("tls.key", &pair.key)])
}

fn year(not_after: Option<f64>) -> f64 {
    // Close enough to tell years apart.
    (not_after.unwrap() / 31_556_952.0).round() + 1970.0
}

#[tokio::test(start_paused = true)]
async fn a_change_is_seen_on_the_beat_and_at_once_by_whoever_asks() {
    let authority = authority("ca");
    let mut mount = mounted(&pair(&authority, "one", (2020, 2030)));
    let metrics = Metrics::new();
    let tls = server(&mount, &clock()).unwrap();
    let _shown = tls.show(&metrics);
    let labels = [("use", "test server")];
    let until = || year(metrics.value(NOT_AFTER, &labels));
    assert_eq!(until(), 2030.0);

    let watching = async {
        mount.write_pair(&pair(&authority, "two", (2020, 2040)));
        tokio::time::sleep(LOOK_EVERY + Duration::from_millis(1)).await;
        assert_eq!(until(), 2040.0);
        let before = tls.in_force();
        mount.write_pair(&pair(&authority, "three", (2020, 2050)));
        tls.current().await;
        assert_eq!(until(), 2040.0, "a look of a moment ago will do");
        tokio::time::sleep(Duration::from_secs(1)).await;
        tls.current().await;
        assert_eq!(until(), 2050.0);
        assert!(!std::sync::Arc::ptr_eq(&before.config, &tls.in_force().config));
        assert_eq!(metrics.value(FAILURES, &labels), Some(0.0));
    };
    tokio::select! {
        biased;
        () = watching => {}
        () = tls.watch() => {}
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_broken_later_changes_nothing_and_counts_once() {
    let authority = authority("ca");
    let good = pair(&authority, "one", (2020, 2030));
    let mut mount = mounted(&good);
    let metrics = Metrics::new();
    let tls = server(&mount, &clock()).unwrap();
    let _shown = tls.show(&metrics);
    let first = tls.in_force();
    let other = pair(&authority, "two", (2020, 2040));
    let expired = pair(&authority, "three", (2001, 2002));
    let problems: [(&str, &str, &str); 5] = [
        ("", &good.key, "no certificate is in it"),
        (
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            &good.key,
            "is no X.509 certificate",
        ),
        (&good.certificate, "nonsense", "no private key is in it"),
        (&good.certificate, &other.key, "this is not the key of the certificate"),
        (
            &expired.certificate,
            &expired.key,
            "\"three\" has expired: it was valid until 2002-01-01T00:00:00Z",
        ),
    ];
    for (n, (certificate, key, words)) in problems.into_iter().enumerate() {
        mount.write(&[("tls.crt", certificate), ("tls.key", key)]);
        for _ in 0..3 {
            tls.look().await;
        }
        assert_eq!(
            metrics.value(FAILURES, &[]),
            Some(f64::from(u32::try_from(n).unwrap() + 1)),
            "{words}"
        );
        let problem = tls.problem().unwrap().to_string();
        assert!(problem.contains(words) && problem.starts_with("--"), "{problem}");
        assert!(std::sync::Arc::ptr_eq(&first.config, &tls.in_force().config));
    }
    std::fs::remove_file(mount.path("tls.key")).unwrap();
    tls.look().await;
    assert!(
        tls.problem()
            .unwrap()
            .to_string()
            .contains("tls.key: cannot be read: No such file")
    );
    symlink("..data/tls.key", mount.path("tls.key")).unwrap();
    mount.write_pair(&other);
    tls.look().await;
    assert_eq!(tls.problem(), None);
    assert_eq!(year(metrics.value(NOT_AFTER, &[])), 2040.0);
}

// A certificate that comes early is taken when its time has come, though its files do not change any more.
#[tokio::test(start_paused = true)]
async fn a_certificate_that_comes_early_waits_for_its_time() {
    let authority = authority("ca");
    let mut mount = mounted(&pair(&authority, "one", (2020, 2030)));
    let clock = clock();
    let tls = server(&mount, &clock).unwrap();
    mount.write_pair(&pair(&authority, "next", (2027, 2040)));
    tls.look().await;
    let problem = tls.problem().unwrap().to_string();
    assert!(
        problem.contains("is not valid yet: it is from 2027-01-01T00:00:00Z on"),
        "{problem}"
    );
    clock.jump(jiff::SignedDuration::from_hours(24 * 400));
    tls.look().await;
    assert_eq!(tls.problem(), None);
}

/// A handshake between the two ends as they are now. The server's name is `server`.
fn shake_hands(client: &Reloading<ClientTls>, server: &Reloading<ServerTls>) -> Result<(), Error> {
    let name = "server".try_into().unwrap();
    let mut client = ClientConnection::new(client.in_force().config.clone(), name).unwrap();
    let mut server = ServerConnection::new(server.in_force().config.clone()).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            server.process_new_packets()?;
        }
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            client.process_new_packets()?;
        }
    }
    Ok(())
}

// The next authority is often in the bundle before its time: it counts when that comes, though the file does not change
// any more, and not before.
#[tokio::test(start_paused = true)]
async fn an_authority_that_comes_early_counts_from_its_time_on() {
    let (old, next) = (authority("old"), authority_of("next", (2027, 2040)));
    let clock = clock();
    let mut of_next = mounted(&pair(&next, "server", (2020, 2040)));
    let server = server(&of_next, &clock).unwrap();
    for bundle in [old.pem() + &next.pem(), next.pem() + &old.pem()] {
        let mount = Mount::new(&[("ca.crt", &bundle)]);
        let files = ClientFiles {
            authorities: NamedFile::new("--ca", mount.path("ca.crt")),
            own: None,
            protocols: &["h2"],
        };
        let clock = Clock::simulated("2026-12-31T23:59:59Z".parse().unwrap());
        let client = files.load("test client", &clock).unwrap();
        client.look().await;
        assert_eq!(
            shake_hands(&client, &server),
            Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
        );
        clock.jump(jiff::SignedDuration::from_secs(1));
        client.look().await;
        assert_eq!(shake_hands(&client, &server), Ok(()));
        assert_eq!(client.problem(), None);
    }

    // The same for the authorities of callers.
    let expired = authority_of("expired", (2001, 2002));
    let one = pair(&old, "server", (2020, 2040));
    let with = |callers: &str| {
        [
            ("tls.crt", one.certificate.clone()),
            ("tls.key", one.key.clone()),
            ("ca.crt", callers.to_owned()),
        ]
    };
    let write = |mount: &mut Mount, callers: &str| {
        let files = with(callers);
        let files: Vec<(&str, &str)> = files.iter().map(|(name, content)| (*name, content.as_str())).collect();
        mount.write(&files);
    };
    write(&mut of_next, &old.pem());
    symlink("..data/ca.crt", of_next.path("ca.crt")).unwrap();
    let files = ServerFiles {
        certificate: NamedFile::new("--cert", of_next.path("tls.crt")),
        key: NamedFile::new("--key", of_next.path("tls.key")),
        callers: Some((
            NamedFile::new("--callers", of_next.path("ca.crt")),
            CallerCertificate::Required,
        )),
        protocols: &["h2"],
    };
    let server = files.load("test server", &clock).unwrap();
    let own = pair(&next, "caller", (2020, 2040));
    let mount = Mount::new(&[
        ("ca.crt", &old.pem()),
        ("own.crt", &own.certificate),
        ("own.key", &own.key),
    ]);
    let files = ClientFiles {
        authorities: NamedFile::new("--ca", mount.path("ca.crt")),
        own: Some((
            NamedFile::new("--own", mount.path("own.crt")),
            NamedFile::new("--own-key", mount.path("own.key")),
        )),
        protocols: &["h2"],
    };
    let client = files.load("test client", &clock).unwrap();
    // One that is over does not hide that one is still to come.
    for callers in [next.pem() + &expired.pem(), expired.pem() + &next.pem()] {
        write(&mut of_next, &callers);
        server.look().await;
        let problem = server.problem().unwrap().to_string();
        assert!(problem.contains("\"next\" is not valid yet"), "{problem}");
    }
    write(&mut of_next, &(next.pem() + &old.pem()));
    server.look().await;
    assert_eq!(server.problem(), None);
    assert_eq!(
        shake_hands(&client, &server),
        Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
    );
    write(&mut of_next, &(next.pem() + &expired.pem()));
    server.look().await;
    clock.jump(jiff::SignedDuration::from_hours(24 * 365));
    server.look().await;
    assert_eq!(server.problem(), None);
    assert_eq!(shake_hands(&client, &server), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn at_the_start_there_is_nothing_to_go_on_with() {
    let authority = authority("ca");
    let said = |pair: &Pair| server(&mounted(pair), &clock()).unwrap_err().to_string();
    let expired = said(&pair(&authority, "old", (2001, 2002)));
    assert!(expired.starts_with("--cert=") && expired.ends_with("now it is 2026-01-01T00:00:00Z; issue a new one"));
    let early = said(&pair(&authority, "early", (2030, 2040)));
    assert!(early.contains("is not valid yet"), "{early}");

    let mount = Mount::new(&[]);
    let missing = server(&mount, &clock()).unwrap_err().to_string();
    assert!(missing.contains("cannot be read: No such file"), "{missing}");
    std::fs::write(mount.path("tls.crt"), vec![b'x'; 1024 * 1024 + 1]).unwrap();
    let large = server(&mount, &clock()).unwrap_err().to_string();
    assert!(large.contains("it is larger than 1048576 bytes"), "{large}");
}

// What a parser says of a key may quote it.
#[tokio::test(start_paused = true)]
async fn nothing_of_a_key_is_in_an_error() {
    let authority = authority("ca");
    let good = pair(&authority, "one", (2020, 2030));
    let body: String = good.key.lines().filter(|line| !line.starts_with("---")).collect();
    for broken in [
        good.key
            .replace("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY"),
        good.key.replace("-----END", "---END"),
        good.key.replacen(&body[10..14], "####", 1),
        format!("-----BEGIN {body}\n"),
        good.key.replacen(&body[60..64], "AAAA", 1),
    ] {
        let mount = Mount::new(&[("tls.crt", &good.certificate), ("tls.key", &broken)]);
        let error = server(&mount, &clock()).unwrap_err();
        let said = format!("{error} {error:?}");
        let leaked = body
            .as_bytes()
            .windows(8)
            .any(|part| said.contains(std::str::from_utf8(part).unwrap()));
        assert!(!leaked, "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_bundle_counts_while_one_of_it_does() {
    let (old, new) = (authority("old"), authority("new"));
    let mut expired = params("expired", (2001, 2002));
    expired.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let expired = expired.self_signed(&KeyPair::generate().unwrap()).unwrap();
    let load = |bundle: &str| {
        let mount = Mount::new(&[("ca.crt", bundle)]);
        let files = ClientFiles {
            authorities: NamedFile::new("--ca", mount.path("ca.crt")),
            own: None,
            protocols: &["h2"],
        };
        files.load("test client", &clock()).map(|_| ())
    };
    assert_eq!(load(&format!("{}{}", old.pem(), new.pem())), Ok(()));
    assert_eq!(load(&format!("{}{}", expired.pem(), new.pem())), Ok(()));
    assert!(
        load(&expired.pem())
            .unwrap_err()
            .to_string()
            .contains("\"expired\" has expired")
    );
    assert!(load("").unwrap_err().to_string().contains("no certificate is in it"));

    let one = pair(&new, "server", (2020, 2030));
    let mount = Mount::new(&[
        ("tls.crt", &one.certificate),
        ("tls.key", &one.key),
        ("ca.crt", "nothing"),
    ]);
    let files = ServerFiles {
        certificate: NamedFile::new("--cert", mount.path("tls.crt")),
        key: NamedFile::new("--key", mount.path("tls.key")),
        callers: Some((
            NamedFile::new("--callers", mount.path("ca.crt")),
            CallerCertificate::Required,
        )),
        protocols: &["h2"],
    };
    let error = files.load("test server", &clock()).unwrap_err().to_string();
    assert!(error.starts_with("--callers="), "{error}");
}

#[test]
fn names_of_a_certificate() {
    let mut wanted = params("manager", (2020, 2030));
    wanted.subject_alt_names = vec![
        SanType::DnsName("manager.example".try_into().unwrap()),
        SanType::URI("spiffe://fleet/manager".try_into().unwrap()),
        SanType::DnsName("manager".try_into().unwrap()),
    ];
    let certificate = wanted.self_signed(&KeyPair::generate().unwrap()).unwrap();
    let facts = CertificateFacts::of(certificate.der()).unwrap();
    assert_eq!(facts.names, ["manager", "spiffe://fleet/manager", "manager.example"]);
    assert_eq!(facts.not_after.to_string(), "2030-01-01T00:00:00Z");
    let other = CertificateDer::from_pem_slice(certificate.pem().as_bytes()).unwrap();
    assert_eq!(CertificateFacts::of(&other).unwrap(), facts);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_read_again_and_never_shown() {
    let mut mount = Mount::new(&[("token", "first-token\n")]);
    let file = NamedFile::new("--token", mount.path("token"));
    let token = secret_text("test token", file.clone(), &clock()).unwrap();
    assert_eq!(token.in_force().reveal(), "first-token");
    mount.write(&[("token", "second-token")]);
    token.look().await;
    assert_eq!(token.in_force().reveal(), "second-token");
    mount.write(&[("token", "two words")]);
    token.look().await;
    assert_eq!(token.in_force().reveal(), "second-token");
    let shown = format!("{token:?} {:?} {:?}", token.in_force(), token.problem());
    assert!(!shown.contains("second") && !shown.contains("two words"), "{shown}");
    mount.write(&[("token", "")]);
    assert!(secret_text("test token", file, &clock()).is_err());
}

proptest::proptest! {
    // Whatever bytes are in a file or come as a certificate: read or refused.
    #[test]
    fn no_bytes_break_the_reader(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
        let _ = CertificateFacts::of(&CertificateDer::from(bytes));
    }

    #[test]
    fn no_damage_breaks_the_reader(at in 0_usize..400, byte in proptest::prelude::any::<u8>()) {
        let certificate = params("x", (2020, 2030)).self_signed(&KeyPair::generate().unwrap()).unwrap();
        let mut der = certificate.der().to_vec();
        let at = at % der.len();
        der[at] = byte;
        let _ = CertificateFacts::of(&CertificateDer::from(der));
    }
}
