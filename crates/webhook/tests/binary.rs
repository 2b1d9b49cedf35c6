//! The binary itself: what is wrong with its command line, and flags that Karmada has.
#![allow(
    clippy::unwrap_used,
    reason = "clippy does not see that the helpers of a test are test code"
)]

use test_bench::{Authority, Counts, Of, Program, assert_old_flags_are_warned_about};

fn program<'a>(command: &'a [&'a str]) -> Program<'a> {
    Program {
        file: env!("CARGO_BIN_EXE_webhook"),
        command,
    }
}

#[test]
fn old_flags_are_accepted_with_a_warning_each() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = Authority::new("ca")
        .issue("webhook", Of::Server)
        .write(folder.path(), "webhook");
    let files = [
        format!("--tls-cert-file={}", certificate.display()),
        format!("--tls-key-file={}", key.display()),
        "--webhook-bind-address=127.0.0.1:0".to_owned(),
    ];
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let expected = [(
        "--feature-gates=GracefulEviction=true",
        "graceful eviction is always on",
    )];
    assert_old_flags_are_warned_about(program(&files), &expected);
}

#[test]
fn what_is_missing_or_over_is_said_at_once() {
    let said = program(&[]).run(&["--feature-gates=Nothing=true"]);
    assert_eq!(said.status, Some(2), "{}", said.text);
    assert!(
        said.text.contains("--tls-cert-file and --tls-key-file are not given"),
        "{}",
        said.text
    );
    assert!(
        said.text.contains("--feature-gates: "),
        "all mistakes at once: {}",
        said.text
    );

    let folder = tempfile::tempdir().unwrap();
    let over = Authority::new("ca").issue_for("webhook", Of::Server, Counts::NoLonger, &[]);
    let (certificate, key) = over.write(folder.path(), "webhook");
    let certificate = format!("--tls-cert-file={}", certificate.display());
    let key = format!("--tls-key-file={}", key.display());
    let said = program(&[]).run(&[&certificate, &key]);
    assert_eq!(said.status, Some(2), "{}", said.text);
    assert!(
        said.text.contains(
            "the certificate of \"webhook\" has expired: it was valid until 2002-01-01T00:00:00Z, and now it is"
        ),
        "{}",
        said.text
    );
}
