//! Messages of the wire protocol, as borrowed bytes: header, OP_MSG, the legacy OP_QUERY of old handshakes.
//!
//! Nothing here allocates for what a message claims, only for the sections it has. Every document
//! is validated before anybody sees it.

use crate::limits::{HEADER_BYTES, MAX_SEQUENCES};
use multifora_engine::connection::check_bytes;
use multifora_engine::{DocumentSequence, Request};
use multifora_model::raw::read_i32;
use multifora_model::{Error, ErrorCode, RawDoc, Result};

/// Operation codes.
pub(crate) mod opcode {
    pub(crate) const REPLY: i32 = 1;
    pub(crate) const QUERY: i32 = 2004;
    pub(crate) const COMPRESSED: i32 = 2012;
    pub(crate) const MSG: i32 = 2013;
}

const CHECKSUM_PRESENT: u32 = 1;
const MORE_TO_COME: u32 = 1 << 1;
/// Bits that a receiver must understand; the others it may ignore (`exhaustAllowed` is bit 16).
const REQUIRED_BITS: u32 = 0xffff;
const CHECKSUM_BYTES: usize = 4;

/// A message header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) len_bytes: i32,
    pub(crate) request_id: i32,
    pub(crate) opcode: i32,
}

impl Header {
    /// The header at the start of `bytes`, if it is all there.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Header> {
        let header = bytes.get(..HEADER_BYTES)?;
        Some(Header {
            len_bytes: read_i32(header, 0)?,
            request_id: read_i32(header, 4)?,
            opcode: read_i32(header, 12)?,
        })
    }
}

/// The flags of an OP_MSG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MsgFlags(u32);

impl MsgFlags {
    /// The flags of a whole OP_MSG message, header included; none when it is too short for flags.
    pub(crate) fn of(message: &[u8]) -> MsgFlags {
        MsgFlags(read_i32(message, HEADER_BYTES).unwrap_or(0) as u32)
    }

    /// The sender wants no reply.
    pub(crate) fn more_to_come(self) -> bool {
        self.0 & MORE_TO_COME != 0
    }

    fn has_checksum(self) -> bool {
        self.0 & CHECKSUM_PRESENT != 0
    }

    fn unknown_required(self) -> u32 {
        self.0 & REQUIRED_BITS & !(CHECKSUM_PRESENT | MORE_TO_COME)
    }
}

/// Why a message was not understood.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The message's frame is sound: tell the sender, and go on.
    Reply(Error),
    /// Nothing that follows can be trusted: tell the sender, and close.
    ReplyAndClose(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Reply(error)
    }
}

/// The request in a whole OP_MSG message, header included.
pub(crate) fn parse_msg(message: &[u8]) -> Result<Request<'_>, Fault> {
    let flags = MsgFlags::of(message);
    if flags.unknown_required() != 0 {
        let text = format!("Message contains illegal flags value: {:#b}", flags.0);
        return Err(Fault::ReplyAndClose(Error::new(ErrorCode::ProtocolError, text)));
    }
    let end = match flags.has_checksum() {
        true => check_crc(message)?,
        false => message.len(),
    };
    let mut sections = Sections { bytes: message.get(HEADER_BYTES + 4..end).unwrap_or_default() };
    let mut body = None;
    let mut sequences: Vec<DocumentSequence<'_>> = Vec::new();
    while let Some(section) = sections.next()? {
        match section {
            Section::Body(doc) if body.is_none() => body = Some(doc),
            Section::Body(_) => return Err(broken(40430, "Multiple body sections in message")),
            Section::Sequence(sequence) => {
                if sequences.iter().any(|known| known.name == sequence.name) {
                    return Err(broken(40431, format!("Duplicate document sequence: {}", sequence.name)));
                }
                if sequences.len() == MAX_SEQUENCES {
                    let text = format!("more than {MAX_SEQUENCES} document sequences in one message");
                    return Err(Fault::ReplyAndClose(Error::new(ErrorCode::TooManyDocumentSequences, text)));
                }
                sequences.push(sequence);
            }
        }
    }
    let body = body.ok_or_else(|| broken(40587, "OP_MSG messages must have a body"))?;
    let db = body.get("$db").and_then(|v| v.as_str());
    let db = db.ok_or_else(|| Error::location(40571, "OP_MSG requests require a $db argument"))?;
    Ok(Request { db, body, sequences })
}

/// The message is not put together as an OP_MSG is: whoever sent it will not do better next time.
fn broken(code: i32, text: impl Into<String>) -> Fault {
    Fault::ReplyAndClose(Error::location(code, text))
}

/// Compares the CRC-32C at the end; gives where the sections end.
fn check_crc(message: &[u8]) -> Result<usize, Fault> {
    let at = message.len().saturating_sub(CHECKSUM_BYTES);
    let (covered, stored) = message.split_at_checked(at).unwrap_or_default();
    let sent = read_i32(stored, 0).unwrap_or(0) as u32;
    if crc32c::crc32c(covered) != sent {
        let text = "OP_MSG checksum does not match contents";
        return Err(Fault::ReplyAndClose(Error::new(ErrorCode::ChecksumMismatch, text)));
    }
    Ok(at)
}

enum Section<'a> {
    Body(RawDoc<'a>),
    Sequence(DocumentSequence<'a>),
}

struct Sections<'a> {
    bytes: &'a [u8],
}

impl<'a> Sections<'a> {
    fn next(&mut self) -> Result<Option<Section<'a>>, Fault> {
        let Some((&kind, rest)) = self.bytes.split_first() else { return Ok(None) };
        self.bytes = rest;
        match kind {
            0 => Ok(Some(Section::Body(check_bytes(self.take_prefixed()?)?))),
            1 => {
                let section = self.take_prefixed().map_err(Fault::ReplyAndClose)?;
                let content = section.get(4..).unwrap_or_default();
                Ok(Some(Section::Sequence(parse_sequence(content)?)))
            }
            other => Err(broken(40432, format!("Unknown section kind {other}"))),
        }
    }

    /// The next bytes whose number stands in their first four.
    fn take_prefixed(&mut self) -> Result<&'a [u8]> {
        let (taken, rest) = split_prefixed(self.bytes)?;
        self.bytes = rest;
        Ok(taken)
    }
}

fn split_prefixed(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let len = read_i32(bytes, 0).and_then(|n| usize::try_from(n).ok()).filter(|n| *n >= 5);
    len.and_then(|n| bytes.split_at_checked(n)).ok_or_else(|| {
        Error::new(ErrorCode::InvalidBSON, "a section or document of the message is longer than the message")
    })
}

fn parse_sequence(content: &[u8]) -> Result<DocumentSequence<'_>> {
    let (name, mut rest) = split_cstring(content)?;
    let mut docs = Vec::new();
    while !rest.is_empty() {
        let (doc, after) = split_prefixed(rest)?;
        docs.push(check_bytes(doc)?);
        rest = after;
    }
    Ok(DocumentSequence { name, docs })
}

fn split_cstring(bytes: &[u8]) -> Result<(&str, &[u8])> {
    let parsed = bytes.iter().position(|b| *b == 0).and_then(|end| {
        let (text, rest) = bytes.split_at_checked(end)?;
        Some((std::str::from_utf8(text).ok()?, rest.get(1..)?))
    });
    parsed
        .ok_or_else(|| Error::new(ErrorCode::InvalidBSON, "a name in the message has no end or is not UTF-8"))
}

/// The request in a whole OP_QUERY message, header included. Only handshakes still come this way.
pub(crate) fn parse_query(message: &[u8]) -> Result<Request<'_>> {
    let (collection, rest) = split_cstring(message.get(HEADER_BYTES + 4..).unwrap_or_default())?;
    let (doc, _fields) = split_prefixed(rest.get(8..).unwrap_or_default())?;
    let outer = check_bytes(doc)?;
    // Old drivers wrap the command to send a read preference along.
    let wrapped = outer.iter().next().filter(|e| matches!(e.name(), "$query" | "query"));
    let body = wrapped.and_then(|e| e.value.as_doc()).unwrap_or(outer);
    let request = Request::new(collection.strip_suffix(".$cmd").unwrap_or(collection), body);
    let name = request.command_name();
    if !collection.ends_with(".$cmd") || !matches!(name, "hello" | "isMaster" | "ismaster") {
        let what = if collection.ends_with(".$cmd") { name } else { "find" };
        let text = format!(
            "Unsupported OP_QUERY command: {what}. The client driver may require an upgrade: use one that speaks OP_MSG"
        );
        return Err(Error::new(ErrorCode::UnsupportedOpQueryCommand, text));
    }
    Ok(request)
}

/// Bytes in front of the document of an OP_MSG reply: header, flags, section kind.
pub(crate) fn begin_msg(out: &mut Vec<u8>, response_to: i32) {
    begin(out, response_to, opcode::MSG);
    out.extend_from_slice(&[0; 5]);
}

/// Bytes in front of the document of an OP_REPLY: header, flags, cursor id, position, count.
pub(crate) fn begin_reply(out: &mut Vec<u8>, response_to: i32) {
    begin(out, response_to, opcode::REPLY);
    out.extend_from_slice(&8_i32.to_le_bytes()); // awaitCapable, as every server since 1.6 says
    out.extend_from_slice(&0_i64.to_le_bytes());
    out.extend_from_slice(&0_i32.to_le_bytes());
    out.extend_from_slice(&1_i32.to_le_bytes());
}

fn begin(out: &mut Vec<u8>, response_to: i32, opcode: i32) {
    out.clear();
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&response_to.to_le_bytes());
    out.extend_from_slice(&opcode.to_le_bytes());
}

/// Fills in the length and the id of a finished message.
pub(crate) fn finish(out: &mut [u8], request_id: i32) {
    let len = i32::try_from(out.len()).unwrap_or(i32::MAX);
    if let Some(slot) = out.get_mut(..8) {
        let (a, b) = slot.split_at_mut(4);
        a.copy_from_slice(&len.to_le_bytes());
        b.copy_from_slice(&request_id.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use multifora_model::DocBuilder;
    use proptest::prelude::*;

    fn sound() -> Vec<u8> {
        let mut body = DocBuilder::new();
        body.str("insert", "c").str("$db", "d");
        let mut doc = DocBuilder::new();
        doc.i32("_id", 1).start_doc("a").str("b", "text").end();
        let doc = doc.finish();
        let mut out = Vec::new();
        begin_msg(&mut out, 0);
        out.extend_from_slice(&body.finish());
        out.push(1);
        let len = 4 + 10 + doc.len() * 2;
        out.extend_from_slice(&i32::try_from(len).unwrap().to_le_bytes());
        out.extend_from_slice(b"documents\0");
        out.extend_from_slice(&doc.repeat(2));
        finish(&mut out, 7);
        out
    }

    #[test]
    fn a_sound_message_is_read_as_it_was_written() {
        let message = sound();
        let header = Header::parse(&message).unwrap();
        assert_eq!(
            (header.len_bytes as usize, header.request_id, header.opcode),
            (message.len(), 7, opcode::MSG)
        );
        let request = parse_msg(&message).unwrap();
        assert_eq!((request.db, request.command_name()), ("d", "insert"));
        assert_eq!(request.sequence("documents").map(<[_]>::len), Some(2));
    }

    #[test]
    fn a_message_cut_anywhere_is_an_error() {
        let message = sound();
        let sections = message.len() - 1;
        for end in HEADER_BYTES..sections {
            // Cut exactly between the sections, what is left is a whole message.
            if let Ok(request) = parse_msg(&message[..end]) {
                assert!(request.sequences.is_empty(), "cut at {end}");
            }
        }
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_msg(&bytes);
            let _ = parse_query(&bytes);
        }

        #[test]
        fn changed_bytes_never_panic(at in 0_usize..200, value: u8, flags in 0_u8..4) {
            let mut message = sound();
            let at = at % message.len();
            message[at] = value;
            message[HEADER_BYTES] = flags;
            let _ = parse_msg(&message);
            let _ = parse_query(&message);
        }
    }
}
