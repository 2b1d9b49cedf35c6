//! The checks: each a function of the facts, and what it says.

mod live;
mod rights;
mod server;
mod stock;

pub(super) use server::{KINDS, http_date};

use super::code::Code;
use super::facts::Facts;
use super::verdict::Verdict;

/// What a check says of these facts.
#[must_use]
pub fn check(code: Code, facts: &Facts) -> Verdict {
    let rule: fn(&Facts) -> Verdict = match code {
        Code::Kinds => server::kinds,
        Code::Mode => server::mode,
        Code::Fields => server::fields,
        Code::Annotations => server::annotations,
        Code::PreferNoExecute => server::prefer_no_execute,
        Code::NoExecutePolicies => server::no_execute_policies,
        Code::Clock => server::clock,
        Code::StockVersion => stock::version,
        Code::StockFailover => stock::failover,
        Code::StockGracefulEviction => stock::graceful_eviction,
        Code::StockApplicationFailover => stock::application_failover,
        Code::StockDuties => stock::duties,
        Code::StockScheduler => stock::scheduler,
        Code::StaysStock => stock::stays,
        Code::SecondOwner => live::second_owner,
        Code::Controllers => live::controllers,
        Code::Gates => live::gates,
        Code::Versions => live::versions,
        Code::Caches => live::caches,
        Code::Queue => live::queue,
        Code::Policies => live::policies,
        Code::Rights => rights::rights,
    };
    rule(facts)
}
