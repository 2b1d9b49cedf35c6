//! A reader that leaves: `failoverctl queue list | head`. It has seen enough, and that is no error of any command.

use std::process::{Command, Output, Stdio};

use crate::dump::{self, ON_A_DUMP, SAYS_WHAT_IT_CANNOT_SEE};
use crate::live::World;
use crate::objects::CONTROLLERS;

/// The program with a standard output that nobody reads any more.
fn into_a_closed_pipe(args: &[&str]) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut program = Command::new(env!("CARGO_BIN_EXE_failoverctl"));
    program
        .args(args)
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::piped());
    program.spawn().unwrap().wait_with_output().unwrap()
}

/// It ends as it does when somebody reads it all, and says the same beside the answer.
fn ends_alike(args: &[&str]) {
    let read = Command::new(env!("CARGO_BIN_EXE_failoverctl"))
        .args(args)
        .output()
        .unwrap();
    assert!(!read.stdout.is_empty(), "{args:?}: {read:?}");
    let left = into_a_closed_pipe(args);
    assert_eq!(left.status.code(), read.status.code(), "{args:?}: {left:?}");
    let beside = |output: &Output| String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(beside(&left), beside(&read), "{args:?}");
}

#[tokio::test(start_paused = true)]
async fn what_reads_a_dump() {
    let (_directory, file) = dump::of_a_waiting_entry(&[]).await;
    for args in ON_A_DUMP.iter().chain(SAYS_WHAT_IT_CANNOT_SEE) {
        for format in ["table", "json"] {
            ends_alike(&[&["--from", &file, "-o", format], *args].concat());
        }
    }
}

#[test]
fn what_reads_no_control_plane() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().to_str().unwrap();
    for args in [
        &["completion", "bash"][..],
        &["man-pages", pages],
        &["--help"],
        &["queue", "drop", "--help"],
        &["--version"],
    ] {
        ends_alike(args);
    }
}

/// A dump to standard output ends there, too, and reads no further.
#[tokio::test(flavor = "multi_thread")]
async fn a_dump_to_standard_output() {
    let world = World::new(&CONTROLLERS);
    let served = world.sandbox.serve_http("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), served.kubeconfig()).unwrap();
    let kubeconfig = file.path().to_str().unwrap().to_owned();
    let ended =
        tokio::task::spawn_blocking(move || into_a_closed_pipe(&["--kubeconfig", &kubeconfig, "dump", "-f", "-"]));
    let ended = ended.await.unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "", "it ends without a word");
}
