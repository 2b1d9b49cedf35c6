//! What is seen of a stock Karmada.

use failoverctl::check::Code;
use failoverctl::check::stock::Stock;
use failoverctl::check::verdict::State;

use super::{Row, deployments, stock};

pub const STANDALONE: &[Row] = &[(Code::StaysStock, |_| {}, State::NotApplicable)];

pub const BESIDE: &[Row] = &[
    (Code::StockVersion, |_| {}, State::Fine),
    (
        Code::StockVersion,
        |facts| facts.stock = Ok(stock("v1.15.0", &[], &[], &[])),
        State::Problem,
    ),
    (
        Code::StockVersion,
        |facts| facts.stock = Ok(stock("v1.20.0", &[], &[], &[])),
        State::Problem,
    ),
    (
        Code::StockVersion,
        |facts| facts.stock = Ok(stock("latest", &[], &[], &[])),
        State::NotSeen,
    ),
    (
        Code::StockVersion,
        |facts| facts.stock = Err("give --host-kubeconfig".to_owned()),
        State::NotSeen,
    ),
    (Code::StockFailover, |_| {}, State::Fine),
    (
        Code::StockFailover,
        |facts| facts.stock = Ok(stock("v1.18.0", &["--feature-gates=Failover=true"], &[], &[])),
        State::Problem,
    ),
    (Code::StockGracefulEviction, |_| {}, State::Fine),
    (
        Code::StockGracefulEviction,
        |facts| facts.stock = Ok(stock("v1.18.0", &["--controllers=*,-applicationFailover"], &[], &[])),
        State::Problem,
    ),
    (Code::StockApplicationFailover, |_| {}, State::Fine),
    (
        Code::StockApplicationFailover,
        |facts| facts.stock = Ok(stock("v1.18.0", &[], &[], &[])),
        State::Problem,
    ),
    (Code::StockDuties, |_| {}, State::Fine),
    (
        Code::StockDuties,
        |facts| facts.stock = Ok(stock("v1.18.0", &["--controllers=*,-workStatus"], &[], &[])),
        State::Problem,
    ),
    (
        Code::StockDuties,
        |facts| facts.stock = Ok(Stock::default()),
        State::NotSeen,
    ),
    (
        Code::StockDuties,
        |facts| facts.stock = Ok(Stock::of(&deployments("v1.18.0", &[], &[], &[])[..1])),
        State::NotSeen,
    ),
    (Code::StockScheduler, |_| {}, State::Fine),
    (
        Code::StockScheduler,
        |facts| facts.stock = Ok(stock("v1.18.0", &[], &["--plugins=*,-ClusterEviction"], &[])),
        State::Problem,
    ),
    (Code::StaysStock, |_| {}, State::Note),
];
