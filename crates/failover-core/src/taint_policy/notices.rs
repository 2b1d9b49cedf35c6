//! What a policy's window on a Cluster gives to tell, once: what the stored window does not say yet. So what could not be
//! written is told when it is, and a restart repeats nothing.

use api_types::cluster::Cluster;

use super::form::Form;
use super::records::Window;
use super::report::{Notice, conditions_text};
use super::restless::restless;

/// The news in `window`; `stored` is the window as the Cluster records it.
pub(super) fn notices_of<'a>(
    form: &Form<'_>,
    cluster: &Cluster,
    window: &Window,
    stored: impl Fn() -> Option<&'a Window>,
) -> Vec<Notice> {
    let is_new = |id| !stored().is_some_and(|stored| stored.dismissed.contains_key(id));
    let dismissed = window.dismissed.keys().filter(|id| window.matching && is_new(id));
    let mut notices: Vec<Notice> = dismissed
        .map(|id| Notice {
            reason: "TaintDismissed",
            is_warning: false,
            text: format!(
                "taint {id} of policy {} was taken back by hand while {}: it is not added again until the policy has \
                 stopped matching or is edited",
                form.name,
                conditions_text(form, cluster)
            ),
        })
        .collect();
    if let Some(why) = restless(window)
        && stored().and_then(restless).is_none()
    {
        notices.push(Notice {
            reason: "TaintWindowStartsAnew",
            is_warning: true,
            text: format!("policy {} waits in vain while this goes on: {why}", form.name),
        });
    }
    notices
}
