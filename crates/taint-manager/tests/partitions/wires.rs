//! Carries the bytes of the in-memory networks of two machines over the simulated network between them.

use std::net::Ipv4Addr;

use eviction_queue_api::memory::{MemoryNetwork, MemoryStream};
use futures::StreamExt;
use tokio::task::spawn_local;
use turmoil::net::{TcpListener, TcpStream};

const PORT: u16 = 9443;

/// What comes in over the wires goes to `address` on this machine.
pub fn serve(network: MemoryNetwork, address: String) {
    spawn_local(async move {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await.unwrap();
        while let Ok((wire, _)) = listener.accept().await {
            // Who dials while nobody listens is hung up on.
            if let Ok(inside) = network.dial(&address) {
                spawn_local(carry(inside, wire));
            }
        }
    });
}

/// What is sent to `address` on this machine goes over the wires to `machine`.
pub fn reach(network: &MemoryNetwork, address: String, machine: &'static str) {
    let mut listener = network.listen(&address);
    spawn_local(async move {
        while let Some(Ok(inside)) = listener.next().await {
            spawn_local(async move {
                if let Ok(wire) = TcpStream::connect((machine, PORT)).await {
                    carry(inside, wire).await;
                }
            });
        }
    });
}

async fn carry(mut inside: MemoryStream, mut wire: TcpStream) {
    // However it ends, both ends are dropped, and those behind them see it.
    let _ = tokio::io::copy_bidirectional(&mut inside, &mut wire).await;
}
