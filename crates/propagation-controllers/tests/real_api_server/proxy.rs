//! A proxy on loopback that leads on whoever asks, and counts them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use controller_kit::Tasks;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

pub struct Proxy {
    pub address: SocketAddr,
    led: Arc<AtomicUsize>,
    tasks: Tasks,
}

impl Proxy {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tasks, led) = (Tasks::new(), Arc::new(AtomicUsize::new(0)));
        let (of_connections, count) = (tasks.clone(), led.clone());
        tasks.spawn("proxy", async move {
            while let Ok((stream, _)) = listener.accept().await {
                let count = count.clone();
                of_connections.spawn("proxy connection", async move {
                    // Who goes away before it is led on has changed its mind.
                    let _ = lead_on(stream, &count).await;
                });
            }
        });
        Self { address, led, tasks }
    }

    /// Connections that it made.
    pub fn led(&self) -> usize {
        self.led.load(Ordering::Relaxed)
    }

    /// It ends, with all that go through it.
    pub fn stop(&self) {
        self.tasks.abort();
    }
}

async fn lead_on(stream: TcpStream, count: &AtomicUsize) -> std::io::Result<()> {
    let mut stream = BufStream::new(stream);
    let mut wanted = String::new();
    stream.read_line(&mut wanted).await?;
    let mut header = String::new();
    while stream.read_line(&mut header).await? > 2 {
        header.clear();
    }
    let target = wanted.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
    let mut onwards = TcpStream::connect(target.expect("a request to be led on")).await?;
    count.fetch_add(1, Ordering::Relaxed);
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    stream.flush().await?;
    copy_bidirectional(&mut stream, &mut onwards).await.map(drop)
}
