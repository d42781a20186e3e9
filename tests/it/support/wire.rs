//! HTTP/1.1 by hand: a client that sends bytes and reads what comes, and an origin that plays what a test gives it.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use tokio::net::TcpSocket;

/// An address of this machine at which no process listens, and which nobody else gets while this lives.
pub struct Nobody {
    _socket: TcpSocket,
    pub address: SocketAddr,
}

impl Nobody {
    pub fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        Self { address: socket.local_addr().unwrap(), _socket: socket }
    }
}

/// A message as it came over the wire, framing removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// Request line or status line.
    pub start: String,
    /// Header fields, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, as much as came.
    pub body: Vec<u8>,
    /// The body ended before it was whole.
    pub cut: bool,
}

impl Message {
    /// The status of a response.
    pub fn status(&self) -> u16 {
        self.start.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
    }

    /// The first value of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// What a test waits for at most; beyond it something hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends raw bytes on a connection of their own and reads one response.
pub fn send(to: SocketAddr, method: &str, raw: &[u8]) -> io::Result<Message> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(raw)?;
    loop {
        let message = read(&mut BufReader::new(&stream), method == "HEAD", true)?;
        if !(100..200).contains(&message.status()) {
            return Ok(message);
        }
    }
}

/// A request with these header fields and body; Host, framing and `Connection: close` are added.
pub fn request(to: SocketAddr, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut raw = format!("{method} {target} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n").into_bytes();
    for (name, value) in headers {
        raw.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    let said = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    if !said && (!body.is_empty() || method != "GET") {
        raw.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
    }
    raw.extend_from_slice(b"\r\n");
    raw.extend_from_slice(body);
    raw
}

/// Sends a request and reads its response.
pub fn call(to: SocketAddr, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Message {
    send(to, method, &request(to, method, target, headers, body)).unwrap()
}

/// Reads one message. `response` tells whether a body without a length ends with the connection.
pub fn read(from: &mut impl BufRead, headless: bool, response: bool) -> io::Result<Message> {
    let mut message = Message { start: line(from)?, ..Message::default() };
    loop {
        let field = line(from)?;
        let Some((name, value)) = field.split_once(':') else { break };
        message.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let status = if response { message.status() } else { 200 };
    if headless || (100..200).contains(&status) || status == 204 || status == 304 {
        return Ok(message);
    }
    if message.header("transfer-encoding").is_some() {
        message.cut = chunks(from, &mut message.body).is_err();
    } else if let Some(length) = message.header("content-length").and_then(|length| length.parse::<u64>().ok()) {
        let read = from.take(length).read_to_end(&mut message.body);
        message.cut = !matches!(read, Ok(read) if read as u64 == length);
    } else if response {
        message.cut = from.read_to_end(&mut message.body).is_err();
    }
    Ok(message)
}

fn chunks(from: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let size = line(from)?;
        let size = u64::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        if size == 0 {
            while !line(from)?.is_empty() {}
            return Ok(());
        }
        if from.take(size).read_to_end(body)? as u64 != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line(from)?;
    }
}

fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    if from.read_until(b'\n', &mut bytes)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    while matches!(bytes.last(), Some(b'\n' | b'\r')) {
        bytes.pop();
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// An origin that answers each request with the next of the responses that it was given, then closes the connection.
#[derive(Debug)]
pub struct Origin {
    /// Where it listens.
    pub address: SocketAddr,
    script: Arc<Mutex<VecDeque<Vec<u8>>>>,
}

impl Origin {
    /// Starts one; its thread ends with the test's process.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(Mutex::new(VecDeque::<Vec<u8>>::new()));
        let answers = Arc::clone(&script);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let _ = stream.set_read_timeout(Some(PATIENCE));
                let mut reader = BufReader::new(&stream);
                if read(&mut reader, false, false).is_err() {
                    continue;
                }
                drop(reader);
                let answer = answers.lock().unwrap().pop_front();
                let _ = stream.write_all(
                    &answer.unwrap_or_else(|| b"HTTP/1.1 500 No script\r\nContent-Length: 0\r\n\r\n".to_vec()),
                );
                // What the client still sends is read, so that closing resets nothing that is on its way.
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let _ = io::copy(&mut stream, &mut io::sink());
            }
        });
        Self { address, script }
    }

    /// Adds the next response, byte for byte.
    pub fn will_answer(&self, raw: impl Into<Vec<u8>>) {
        self.script.lock().unwrap().push_back(raw.into());
    }
}
