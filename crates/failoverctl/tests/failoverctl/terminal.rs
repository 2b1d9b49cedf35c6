//! The program itself on a terminal of a given width.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::dump;

/// What the program writes to a terminal of so many columns, as it is and as the terminal breaks it.
pub fn on_terminal(columns: u16, args: &[&str]) -> (String, String) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    unlockpt(&ours).unwrap();
    let theirs = ioctl_tiocgptpeer(&ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    let size = Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&theirs, size).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_failoverctl"))
        .args(args)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(theirs)
        .spawn()
        .unwrap();
    let mut written = Vec::new();
    // When the last who could write to it has gone, a terminal ends with an error.
    let mut ours = File::from(ours);
    let mut some = [0; 4096];
    while let Ok(count @ 1..) = ours.read(&mut some) {
        written.extend_from_slice(&some[..count]);
    }
    child.wait().unwrap();
    let text = String::from_utf8(written).unwrap().replace("\r\n", "\n");
    let broken = text.lines().flat_map(|line| {
        let letters: Vec<char> = line.chars().collect();
        let lines = letters.chunks(usize::from(columns).max(1));
        let lines: Vec<String> = lines.map(|line| line.iter().collect()).collect();
        if lines.is_empty() { vec![String::new()] } else { lines }
    });
    let broken: Vec<String> = broken.collect();
    (text, broken.join("\n"))
}

/// On 40 columns every value of a table stands behind its heading; on 200, and without a terminal whatever `COLUMNS` says, a
/// table is as wide as it has to be.
#[tokio::test(start_paused = true)]
async fn tables_on_a_narrow_terminal() {
    let (_directory, file) = dump::of_a_waiting_entry(&["evictor"]).await;
    for (name, args) in [
        ("narrow_status", &["status", "member1"][..]),
        ("narrow_queue_list", &["queue", "list"]),
    ] {
        let args = &[&["--from", &file], args].concat()[..];
        let (narrow, as_broken) = on_terminal(40, args);
        assert_snapshot!(name, as_broken);
        let piped = |columns: &str| {
            let mut program = Command::new(env!("CARGO_BIN_EXE_failoverctl"));
            let output = program.args(args).env("COLUMNS", columns).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let wide = piped("40");
        assert_ne!(narrow, wide, "{args:?}");
        assert_eq!(piped("200"), wide, "{args:?}");
        assert_eq!(on_terminal(200, args).0, wide, "{args:?}");
        // Told in another way, and all of it.
        let cells = |text: &str| -> Vec<String> {
            let words = text
                .split([' ', '\n'])
                .map(|word| word.trim_end_matches(':').to_owned());
            // A heading that no row has a value for goes with it.
            let is_heading = |word: &str| word.chars().all(|letter| letter.is_ascii_uppercase());
            let mut words: Vec<String> = words.filter(|word| word != "-" && !is_heading(word)).collect();
            words.sort();
            words.dedup();
            words
        };
        let (narrow, wide) = (cells(&narrow), cells(&wide));
        let lost: Vec<&String> = wide.iter().filter(|word| !narrow.contains(word)).collect();
        assert_eq!(lost, [""; 0], "{args:?}");
    }
}

/// A terminal that says no width, as some serial ones do, is none that is narrow.
#[test]
fn a_terminal_that_does_not_say_how_wide_it_is() {
    let (text, _) = on_terminal(0, &["completion", "bash"]);
    assert!(text.contains("complete -F"), "{text}");
}
