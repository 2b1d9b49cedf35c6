//! What is seen of the rights of who asks.

use failoverctl::check::Code;
use failoverctl::check::facts::Right;
use failoverctl::check::verdict::State;

use super::Row;

pub const STANDALONE: &[Row] = &[
    (Code::Rights, |_| {}, State::Fine),
    (
        Code::Rights,
        |facts| facts.rights = Ok(vec![right("drain", true)]),
        State::Note,
    ),
    (
        Code::Rights,
        |facts| facts.rights = Ok(vec![right("list", false)]),
        State::Problem,
    ),
];

fn right(verb: &str, to_change: bool) -> Right {
    Right {
        verb: verb.to_owned(),
        what: "clusters.cluster.karmada.io".to_owned(),
        to_change,
        allowed: false,
    }
}
