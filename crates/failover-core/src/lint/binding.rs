//! What people write on a binding.

use api_types::names::annotation;
use api_types::second_home::history;
use api_types::work::Binding;

use super::annotations::unreadable;
use super::code::Code;
use super::finding::Finding;
use crate::eviction::stay;

pub(super) fn findings(binding: &Binding) -> Vec<Finding> {
    let stays = stay::read(binding).err().map(|why| {
        Finding::new(
            Code::UnreadableAnnotation,
            format!("metadata.annotations[{}]", annotation::STAY),
            format!("it is no list of {{cluster, verdict}}: {why}"),
            "until it is mended the workload stays on every cluster, whatever fails",
            "write it as [{\"cluster\": \"m1\"}]; without verdict it stays there whatever the cause",
        )
    });
    stays
        .into_iter()
        .chain(unreadable(history::complaint(binding)))
        .collect()
}
