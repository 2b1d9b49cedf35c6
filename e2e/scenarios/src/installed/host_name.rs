//! A Pod's host has the Pod's name: by it a component's Lease tells who holds it, and failoverctl finds the Pod of the queue's
//! leader. So each process has a name of its own for this machine, where the system allows that.

use std::process::Command;
use std::sync::OnceLock;

use e2e_harness::Launch;

/// Names the host `$0`, and becomes what follows.
const ENTER: &str = r#"hostname "$0"; exec "$@""#;
const UNSHARE: [&str; 5] = ["unshare", "--uts", "--map-root-user", "sh", "-ec"];

/// As on a host of this name.
pub fn on_host(launch: Launch, name: &str) -> Launch {
    if may_be_named() {
        let [unshare, arguments @ ..] = UNSHARE;
        launch.through(unshare, arguments.into_iter().chain([ENTER, name]))
    } else {
        launch
    }
}

/// Whether a process may have a host name of its own here.
pub fn may_be_named() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    *MAY.get_or_init(|| {
        let tried = Command::new(UNSHARE[0])
            .args(&UNSHARE[1..])
            .args([ENTER, "pod", "true"])
            .output();
        tried.is_ok_and(|output| output.status.success())
    })
}
