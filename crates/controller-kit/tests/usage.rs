//! A command line that cannot be right ends the program with the code for that. Its own test binary: `main` sets the
//! process's subscriber.

use std::process::ExitCode;

use controller_kit::process::{AdminAddress, Controller, EXIT_USAGE, KitFlags};

#[test]
fn mistakes_end_the_program_with_the_usage_code() {
    let flags = KitFlags {
        kubeconfig: Some(std::env::temp_dir().join("controller-kit-no-such-file")),
        admin_bind_address: AdminAddress::Off,
        ..KitFlags::default().with_controllers("nobody")
    };
    let controller = Controller::new("somebody", |_| async { Ok(()) });
    assert_eq!(
        controller_kit::main("test", flags, vec![controller]),
        ExitCode::from(EXIT_USAGE)
    );
}
