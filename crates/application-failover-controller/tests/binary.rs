//! The binary itself: flags that Karmada has are accepted, each with a warning that says what to use instead.

use test_bench::{Program, assert_old_flags_are_warned_about};

#[test]
fn old_flags_are_accepted_with_a_warning_each() {
    let program = Program {
        file: env!("CARGO_BIN_EXE_application-failover-controller"),
        command: &[],
    };
    let expected = [(
        "--feature-gates=GracefulEviction=true",
        "graceful eviction is always on",
    )];
    assert_old_flags_are_warned_about(program, &expected);
}

#[test]
fn flags_of_the_queue_that_make_no_sense_are_named() {
    let program = Program {
        file: env!("CARGO_BIN_EXE_application-failover-controller"),
        command: &[],
    };
    let said = program.run(&["--queue-client-cert-file=own.crt"]);
    assert_eq!(said.status, Some(2), "{}", said.text);
    assert!(
        said.text
            .contains("--queue-client-cert-file is given without --queue-client-key-file"),
        "{}",
        said.text
    );
}
