//! The listener over real sockets: what drivers send, and what nobody should.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use multifora_engine::{Database, OpenOptions};
use multifora_model::raw::read_i32;
use multifora_model::{DocBuilder, RawDoc, extjson};
use multifora_server::{Log, MAX_MESSAGE_BYTES, ServeOptions, Server};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const MSG: i32 = 2013;
const QUERY: i32 = 2004;
const REPLY: i32 = 1;

/// A listener on a database in memory, with its log.
struct Fixture {
    database: Database,
    server: Server,
    address: SocketAddr,
    log: Arc<Mutex<Vec<String>>>,
}

fn start(options: ServeOptions) -> Fixture {
    let database = Database::open(":memory:", &OpenOptions::default()).unwrap();
    let log = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&log);
    let log_to = Log::to(move |line| sink.lock().unwrap().push(line.to_owned()));
    let server = Server::start(&database, ServeOptions { log: log_to, ..options }).unwrap();
    let address = server.local_addr().unwrap_or(([127, 0, 0, 1], 0).into());
    Fixture { database, server, address, log }
}

fn fixture() -> Fixture {
    start(ServeOptions::default())
}

impl Fixture {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// A new client is answered.
    fn is_healthy(&self) {
        let reply = call(&mut self.connect(), r#"{"ping": 1, "$db": "admin"}"#);
        assert!(is_ok(&reply), "{}", text(&reply));
    }

    /// The first line of the log, once there is one.
    fn log_line(&self) -> String {
        let patience = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(line) = self.log.lock().unwrap().first() {
                return line.clone();
            }
            assert!(Instant::now() < patience, "nothing was logged");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn message(opcode: i32, request_id: i32, body: &[u8]) -> Vec<u8> {
    let len = i32::try_from(16 + body.len()).unwrap();
    [&len.to_le_bytes(), &request_id.to_le_bytes(), &[0; 4], &opcode.to_le_bytes(), body].concat()
}

fn msg(flags: u32, sections: &[u8]) -> Vec<u8> {
    message(MSG, 9, &[&flags.to_le_bytes(), sections].concat())
}

fn body(json: &str) -> Vec<u8> {
    [&[0][..], &extjson::parse_document(json).unwrap()].concat()
}

fn sequence(name: &str, docs: &[&str]) -> Vec<u8> {
    let docs: Vec<u8> = docs.iter().flat_map(|d| extjson::parse_document(d).unwrap()).collect();
    let len = i32::try_from(4 + name.len() + 1 + docs.len()).unwrap();
    [&[1][..], &len.to_le_bytes(), name.as_bytes(), &[0], &docs].concat()
}

/// One whole message.
fn receive(stream: &mut impl Read) -> Vec<u8> {
    let mut all = vec![0; 16];
    stream.read_exact(&mut all).unwrap();
    let len = usize::try_from(read_i32(&all, 0).unwrap()).unwrap();
    all.resize(len, 0);
    stream.read_exact(&mut all[16..]).unwrap();
    all
}

/// The reply's document, after checking what is around it.
fn reply_to(stream: &mut impl Read, request_id: i32) -> Vec<u8> {
    let reply = receive(stream);
    assert_eq!((read_i32(&reply, 8), read_i32(&reply, 12)), (Some(request_id), Some(MSG)));
    assert_eq!(reply[16..21], [0; 5]);
    reply[21..].to_vec()
}

fn exchange(stream: &mut (impl Read + Write), bytes: &[u8]) -> Vec<u8> {
    stream.write_all(bytes).unwrap();
    reply_to(stream, 9)
}

fn call(stream: &mut (impl Read + Write), json: &str) -> Vec<u8> {
    exchange(stream, &msg(0, &body(json)))
}

fn doc(bytes: &[u8]) -> RawDoc<'_> {
    RawDoc::framed(bytes).expect("a document")
}

fn text(bytes: &[u8]) -> String {
    extjson::to_text(doc(bytes), extjson::Mode::Relaxed)
}

fn is_ok(bytes: &[u8]) -> bool {
    doc(bytes).get("ok").and_then(|v| v.as_f64()) == Some(1.0)
}

fn code(bytes: &[u8]) -> Option<i32> {
    doc(bytes).get("code")?.as_i32()
}

/// The other side closes; what it sends before that is given.
fn until_closed(stream: &mut impl Read) -> Vec<u8> {
    let mut rest = Vec::new();
    // A reset is as good as an end.
    let _ = stream.read_to_end(&mut rest);
    rest
}

#[test]
fn commands_and_document_sequences() {
    let fixture = fixture();
    let mut stream = fixture.connect();
    let insert = [
        body(r#"{"insert": "c", "$db": "d"}"#),
        sequence("documents", &[r#"{"_id": 1}"#, r#"{"_id": 2}"#, r#"{"_id": 3}"#]),
    ];
    let reply = exchange(&mut stream, &msg(0, &insert.concat()));
    assert_eq!(text(&reply), r#"{"n":3,"ok":1.0}"#);
    // The sequence may stand in front of the body.
    let update = [
        sequence("updates", &[r#"{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}"#]),
        body(r#"{"update": "c", "$db": "d"}"#),
    ];
    let reply = exchange(&mut stream, &msg(0, &update.concat()));
    assert_eq!(text(&reply), r#"{"n":1,"nModified":1,"ok":1.0}"#);
    let reply = call(&mut stream, r#"{"find": "c", "filter": {"a": 1}, "$db": "d"}"#);
    assert_eq!(text(&reply), r#"{"cursor":{"firstBatch":[{"_id":1,"a":1}],"id":0,"ns":"d.c"},"ok":1.0}"#);
    let both = [body(r#"{"insert": "c", "documents": [{}], "$db": "d"}"#), sequence("documents", &["{}"])];
    assert_eq!(code(&exchange(&mut stream, &msg(0, &both.concat()))), Some(40413));
    let strange = [body(r#"{"find": "c", "$db": "d"}"#), sequence("documents", &["{}"])];
    assert_eq!(code(&exchange(&mut stream, &msg(0, &strange.concat()))), Some(40415));
}

#[test]
fn many_messages_in_one_packet_and_one_message_in_many() {
    let fixture = fixture();
    let mut stream = fixture.connect();
    let ping = msg(0, &body(r#"{"ping": 1, "$db": "admin"}"#));
    stream.write_all(&ping.repeat(50)).unwrap();
    for _ in 0..50 {
        assert!(is_ok(&reply_to(&mut stream, 9)));
    }
    for byte in ping {
        stream.write_all(&[byte]).unwrap();
    }
    assert!(is_ok(&reply_to(&mut stream, 9)));
}

#[test]
fn more_to_come_gets_no_reply() {
    let fixture = fixture();
    let mut stream = fixture.connect();
    let silent = msg(2, &body(r#"{"insert": "c", "documents": [{"_id": 1}], "$db": "d"}"#));
    let failing = msg(2, &body(r#"{"bogus": 1, "$db": "d"}"#));
    stream.write_all(&[silent, failing].concat()).unwrap();
    // The next reply is for the next request.
    stream
        .write_all(&message(MSG, 77, &[&[0; 4][..], &body(r#"{"count": "c", "$db": "d"}"#)].concat()))
        .unwrap();
    assert_eq!(text(&reply_to(&mut stream, 77)), r#"{"n":1,"ok":1.0}"#);
}

#[test]
fn checksums() {
    let fixture = fixture();
    let mut stream = fixture.connect();
    let mut summed = msg(1, &[body(r#"{"ping": 1, "$db": "admin"}"#), vec![0; 4]].concat());
    let at = summed.len() - 4;
    let sum = crc32c::crc32c(&summed[..at]);
    summed[at..].copy_from_slice(&sum.to_le_bytes());
    assert!(is_ok(&exchange(&mut stream, &summed)));
    summed[at] ^= 1;
    assert_eq!(code(&exchange(&mut stream, &summed)), Some(288));
    assert!(until_closed(&mut stream).is_empty());
    fixture.is_healthy();
}

#[test]
fn the_handshake_by_op_query() {
    let fixture = fixture();
    let mut stream = fixture.connect();
    let query = |json: &str, ns: &str| {
        let doc = extjson::parse_document(json).unwrap();
        let parts: [&[u8]; 6] = [&[0; 4], ns.as_bytes(), &[0], &[0; 4], &(-1_i32).to_le_bytes(), &doc];
        message(QUERY, 5, &parts.concat())
    };
    let mut ask = |bytes: Vec<u8>| {
        stream.write_all(&bytes).unwrap();
        let reply = receive(&mut stream);
        assert_eq!((read_i32(&reply, 8), read_i32(&reply, 12)), (Some(5), Some(REPLY)));
        assert_eq!(read_i32(&reply, 32), Some(1), "one document");
        reply[36..].to_vec()
    };
    let hello =
        ask(query(r#"{"isMaster": 1, "helloOk": true, "client": {"driver": {"name": "x"}}}"#, "admin.$cmd"));
    assert_eq!(doc(&hello).get("helloOk").and_then(|v| v.as_bool()), Some(true));
    assert_eq!(doc(&hello).get("ismaster").and_then(|v| v.as_bool()), Some(true));
    let wrapped =
        ask(query(r#"{"$query": {"ismaster": 1}, "$readPreference": {"mode": "nearest"}}"#, "admin.$cmd"));
    assert!(is_ok(&wrapped));
    assert_eq!(code(&ask(query(r#"{"find": "c"}"#, "d.$cmd"))), Some(352));
    assert_eq!(code(&ask(query("{}", "d.c"))), Some(352));
    assert!(is_ok(&call(&mut stream, r#"{"hello": 1, "$db": "admin"}"#)));
}

#[test]
fn messages_that_are_none_end_their_connection_with_one_line() {
    let header = |len: i32, opcode: i32| [&len.to_le_bytes()[..], &[0; 8], &opcode.to_le_bytes()].concat();
    let huge = i32::try_from(MAX_MESSAGE_BYTES).unwrap() + 1;
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("http", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        ("zeros", vec![0; 64]),
        ("2^31-1", header(i32::MAX, MSG)),
        ("over the limit", header(huge, MSG)),
        ("negative", header(-5, MSG)),
        ("15", header(15, MSG)),
        ("opcode", message(4242, 9, &[0; 4])),
        ("compressed", message(2012, 9, &[0; 20])),
        ("no sections", msg(0, &[])),
        ("no flags", message(MSG, 9, &[])),
        ("unknown flags", msg(4, &body(r#"{"ping": 1, "$db": "admin"}"#))),
        ("unknown section", msg(0, &[7, 0])),
        ("sequence too long", msg(0, &[&[1][..], &i32::MAX.to_le_bytes(), b"x\0"].concat())),
        ("two bodies", msg(0, &body(r#"{"ping": 1, "$db": "admin"}"#).repeat(2))),
        ("only a sequence", msg(0, &sequence("documents", &["{}"]))),
    ];
    for (name, bytes) in cases {
        let fixture = fixture();
        let mut stream = fixture.connect();
        stream.write_all(&bytes).unwrap();
        let said = until_closed(&mut stream);
        if !said.is_empty() {
            assert!(!is_ok(&said[21..]), "{name}");
        }
        let line = fixture.log_line();
        assert!(
            line.starts_with(&stream.local_addr().unwrap().to_string()) && !line.contains('\n'),
            "{name}: {line}"
        );
        fixture.is_healthy();
        assert_eq!(fixture.log.lock().unwrap().len(), 1, "{name}");
    }
}

#[test]
fn documents_that_are_broken_get_an_error_and_the_connection_goes_on() {
    let fixture = fixture();
    let mut stream = fixture.connect();
    let mut deep = DocBuilder::new();
    for _ in 0..10_000 {
        deep.start_doc("a");
    }
    let deep = deep.finish();
    let find = |filter: &[u8]| {
        let mut command = DocBuilder::new();
        command.str("find", "c").str("$db", "d");
        let mut bytes = command.finish();
        bytes.pop();
        bytes.extend_from_slice(b"\x03filter\0");
        bytes.extend_from_slice(filter);
        bytes.push(0);
        let len = i32::try_from(bytes.len()).unwrap();
        bytes[..4].copy_from_slice(&len.to_le_bytes());
        [&[0][..], &bytes].concat()
    };
    let whole = body(r#"{"ping": 1, "$db": "admin"}"#);
    let cases = [
        ("truncated", whole[..whole.len() - 4].to_vec(), 22),
        ("nested 10,000 deep", find(&deep), 15),
        ("inner length too long", find(&[0x7f, 0, 0, 0, 0]), 22),
        ("inner length 2^31-1", find(&[0xff, 0xff, 0xff, 0x7f, 0]), 22),
        ("unknown type", find(b"\x0b\0\0\0\x66a\0xxx\0"), 22),
        ("no $db", body(r#"{"ping": 1}"#), 40571),
        ("empty", body(r#"{"$db": "admin"}"#), 59),
    ];
    for (name, sections, wanted) in cases {
        let reply = exchange(&mut stream, &msg(0, &sections));
        assert_eq!(code(&reply), Some(wanted), "{name}: {}", text(&reply));
        assert!(is_ok(&call(&mut stream, r#"{"ping": 1, "$db": "admin"}"#)), "{name}");
    }
    assert_eq!(fixture.log.lock().unwrap().len(), 0);
}

#[test]
fn a_client_that_goes_away_is_nothing_to_report() {
    let fixture = fixture();
    for bytes in [&b""[..], &[100, 0, 0], &msg(0, &body(r#"{"ping": 1, "$db": "admin"}"#))[..30]] {
        let mut stream = fixture.connect();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(until_closed(&mut stream).is_empty());
    }
    assert_eq!(fixture.log.lock().unwrap().len(), 0);
    fixture.is_healthy();
}

#[test]
fn replies_larger_than_the_socket_takes() {
    let fixture = fixture();
    let mut stream = fixture.connect();
    let big = "x".repeat(15 << 20);
    let insert = format!(r#"{{"insert": "c", "documents": [{{"_id": 1, "t": "{big}"}}], "$db": "d"}}"#);
    assert!(is_ok(&call(&mut stream, &insert)));
    for _ in 0..2 {
        let reply = call(&mut stream, r#"{"find": "c", "$db": "d"}"#);
        assert!(reply.len() > big.len() && is_ok(&reply));
    }
}

#[test]
fn a_unix_socket_is_private_replaced_when_stale_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mf.sock");
    let options = || ServeOptions { port: None, socket: Some(path.clone()), ..ServeOptions::default() };
    // A socket that nobody listens on any more.
    drop(UnixListener::bind(&path).unwrap());
    let fixture = start(options());
    assert_eq!(fixture.server.local_addr(), None);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut stream = UnixStream::connect(&path).unwrap();
    assert!(is_ok(&call(&mut stream, r#"{"ping": 1, "$db": "admin"}"#)));
    let refused = |what: &str| {
        let database = Database::open(":memory:", &OpenOptions::default()).unwrap();
        let error = Server::start(&database, options()).err().expect("it must be refused");
        assert!(error.message().contains(what) && error.message().contains("mf.sock"), "{error}");
    };
    refused("another process listens there");
    fixture.server.stop();
    assert!(!path.exists());
    std::fs::write(&path, "precious").unwrap();
    refused("no socket");
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

#[test]
fn an_address_in_use_is_named() {
    let fixture = fixture();
    let options = ServeOptions { port: Some(fixture.address.port()), ..ServeOptions::default() };
    let error = Server::start(&fixture.database, options).err().expect("it must be refused");
    assert!(error.message().contains(&fixture.address.to_string()), "{error}");
}

#[test]
fn stopping_ends_idle_and_busy_connections() {
    let fixture = fixture();
    let mut idle = fixture.connect();
    assert!(is_ok(&call(&mut idle, r#"{"ping": 1, "$db": "admin"}"#)));
    let docs: Vec<String> = (0..3000).map(|i| format!(r#"{{"_id": {i}}}"#)).collect();
    let insert = format!(r#"{{"insert": "c", "documents": [{}], "$db": "d"}}"#, docs.join(","));
    assert!(is_ok(&call(&mut idle, &insert)));
    let mut busy = fixture.connect();
    busy.write_all(&msg(0, &body(r#"{"find": "c", "batchSize": 1, "$db": "d"}"#))).unwrap();
    let begun = Instant::now();
    fixture.server.stop();
    fixture.server.stop();
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(fixture.server.connection_count(), 0);
    until_closed(&mut idle);
    until_closed(&mut busy);
    assert!(TcpStream::connect(fixture.address).is_err());
    fixture.database.close().unwrap();
}

/// Drivers send a command again after 11600, but not after 11601: somebody meant that one.
#[test]
fn what_a_stop_interrupts_may_be_sent_again() {
    let fixture = fixture();
    let mut busy = fixture.connect();
    let docs: Vec<String> = (0..3000).map(|i| format!(r#"{{"_id": {i}}}"#)).collect();
    let insert = format!(r#"{{"insert": "c", "documents": [{}], "$db": "d"}}"#, docs.join(","));
    assert!(is_ok(&call(&mut busy, &insert)));
    let slow = r#"{"$filter": {"input": {"$range": [0, 1000000]}, "cond": {"$lt": ["$$this", "$_id"]}}}"#;
    let find = format!(
        r#"{{"find": "c", "filter": {{"$expr": {{"$eq": [-1, {{"$size": {slow}}}]}}}}, "$db": "d"}}"#
    );
    busy.write_all(&msg(0, &body(&find))).unwrap();
    let mut other = fixture.connect();
    let patience = Instant::now() + Duration::from_secs(20);
    while !text(&call(&mut other, r#"{"currentOp": 1, "$db": "admin"}"#)).contains("\"find\"") {
        assert!(Instant::now() < patience, "the command is not on the list");
    }
    fixture.server.stop();
    let reply = reply_to(&mut busy, 9);
    assert_eq!(code(&reply), Some(11600), "{}", text(&reply));
}

#[test]
fn a_client_that_reads_nothing_does_not_hold_up_a_stop() {
    let fixture = fixture();
    let mut stream = fixture.connect();
    let big = "x".repeat(12 << 20);
    let insert = format!(r#"{{"insert": "c", "documents": [{{"_id": 1, "t": "{big}"}}], "$db": "d"}}"#);
    assert!(is_ok(&call(&mut stream, &insert)));
    stream.write_all(&msg(0, &body(r#"{"find": "c", "$db": "d"}"#)).repeat(4)).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    fixture.server.stop();
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_replica_set_announces_where_it_is() {
    let rs = |advertise: Option<&str>| {
        let options = ServeOptions {
            replica_set: Some("rs0".into()),
            advertise: advertise.map(String::from),
            ..ServeOptions::default()
        };
        let fixture = start(options);
        let reply = call(&mut fixture.connect(), r#"{"hello": 1, "$db": "admin"}"#);
        let me = doc(&reply).get("me").and_then(|v| v.as_str()).unwrap().to_owned();
        (me, fixture.address.to_string())
    };
    let (me, bound) = rs(None);
    assert_eq!(me, bound);
    assert_eq!(rs(Some("db.example:27017")).0, "db.example:27017");
}
