//! A proxy on loopback that leads on whoever asks, counts them, and notes with which headers.

use std::net::SocketAddr;
use std::sync::Arc;

use controller_kit::Tasks;
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// The headers of each connection that it made, in lower case.
type Led = Arc<Mutex<Vec<String>>>;

pub struct Proxy {
    pub address: SocketAddr,
    led: Led,
    tasks: Tasks,
}

impl Proxy {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tasks, led) = (Tasks::new(), Led::default());
        let (of_connections, noted) = (tasks.clone(), led.clone());
        tasks.spawn("proxy", async move {
            while let Ok((stream, _)) = listener.accept().await {
                let noted = noted.clone();
                of_connections.spawn("proxy connection", async move {
                    // Who goes away before it is led on has changed its mind.
                    let _ = lead_on(stream, &noted).await;
                });
            }
        });
        Self { address, led, tasks }
    }

    /// Connections that it made.
    pub fn led(&self) -> usize {
        self.led.lock().len()
    }

    /// Whether one of them was asked for with this header.
    pub fn heard(&self, header: &str) -> bool {
        let line = format!("{header}\r\n");
        self.led.lock().iter().any(|headers| headers.contains(&line))
    }

    /// It ends, with all that go through it.
    pub fn stop(&self) {
        self.tasks.abort();
    }
}

async fn lead_on(stream: TcpStream, noted: &Led) -> std::io::Result<()> {
    let mut stream = BufStream::new(stream);
    let mut wanted = String::new();
    stream.read_line(&mut wanted).await?;
    let mut headers = String::new();
    while stream.read_line(&mut headers).await? > 2 {}
    let target = wanted.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
    let mut onwards = TcpStream::connect(target.expect("a request to be led on")).await?;
    noted.lock().push(headers.to_lowercase());
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    stream.flush().await?;
    copy_bidirectional(&mut stream, &mut onwards).await.map(drop)
}
