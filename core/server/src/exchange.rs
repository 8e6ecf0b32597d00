//! One connection's loop: read a message, run it, write the reply.
//!
//! The request is borrowed from the read buffer, the reply is built once behind room for its header, in a buffer
//! that the next reply uses again, and leaves with one write.

use crate::limits::KEPT_BUFFER_BYTES;
use crate::message::{self, Fault, Header, MsgFlags, opcode};
use crate::reader::{End, MessageReader};
use multifora_engine::Connection;
use multifora_model::Error;
use std::io::{Read, Write};
use std::ops::ControlFlow;

/// Serves one connection until it ends. `Some` says why, where that is worth a line in a log.
pub(crate) fn serve(
    stream: &mut (impl Read + Write),
    connection: &Connection,
    stop: &dyn Fn() -> bool,
) -> Option<String> {
    let mut reader = MessageReader::new();
    let mut exchange = Exchange { connection, out: Vec::with_capacity(1024), next_id: 0 };
    while !stop() {
        let (header, message) = match reader.next(stream) {
            Ok(found) => found,
            // A client that goes away, in the middle of a message or not, is nothing to report.
            Err(End::Closed | End::Truncated) => return None,
            Err(End::Io(_)) if stop() => return None,
            Err(end) => return Some(end.to_string()),
        };
        let goes_on = exchange.answer(header, message);
        let counters = connection.database().counters();
        counters.requests.add(1);
        counters.bytes_in.add(message.len() as u64);
        counters.bytes_out.add(exchange.out.len() as u64);
        if let Err(error) = stream.write_all(&exchange.out) {
            return (!stop()).then(|| format!("the reply could not be written: {error}"));
        }
        if let ControlFlow::Break(reason) = goes_on {
            return Some(reason);
        }
        if exchange.out.capacity() > KEPT_BUFFER_BYTES {
            exchange.out = Vec::with_capacity(1024);
        }
    }
    None
}

struct Exchange<'c> {
    connection: &'c Connection,
    /// The whole reply message; empty when there is none.
    out: Vec<u8>,
    next_id: i32,
}

impl Exchange<'_> {
    /// Puts the reply to one message into `out`; breaks with the reason when the connection must end.
    fn answer(&mut self, header: Header, message: &[u8]) -> ControlFlow<String> {
        self.out.clear();
        match header.opcode {
            opcode::MSG => self.answer_msg(header, message),
            opcode::QUERY => {
                message::begin_reply(&mut self.out, header.request_id);
                match message::parse_query(message) {
                    Ok(request) => self.connection.command_into(&request, &mut self.out),
                    Err(error) => self.out.extend_from_slice(&error.to_reply()),
                }
                self.finish();
                ControlFlow::Continue(())
            }
            opcode::COMPRESSED => {
                ControlFlow::Break(String::from("a compressed message, but no compression was agreed on"))
            }
            other => ControlFlow::Break(format!("operation code {other} is not supported; use OP_MSG")),
        }
    }

    fn answer_msg(&mut self, header: Header, message: &[u8]) -> ControlFlow<String> {
        let wants_reply = !MsgFlags::of(message).more_to_come();
        message::begin_msg(&mut self.out, header.request_id);
        let goes_on = match message::parse_msg(message) {
            Ok(request) => {
                self.connection.command_into(&request, &mut self.out);
                ControlFlow::Continue(())
            }
            Err(Fault::Reply(error)) => {
                self.reply_error(&error);
                ControlFlow::Continue(())
            }
            Err(Fault::ReplyAndClose(error)) => {
                self.reply_error(&error);
                ControlFlow::Break(error.to_string())
            }
        };
        match wants_reply {
            true => self.finish(),
            false => self.out.clear(),
        }
        goes_on
    }

    fn reply_error(&mut self, error: &Error) {
        self.out.extend_from_slice(&error.to_reply());
    }

    fn finish(&mut self) {
        self.next_id = self.next_id.wrapping_add(1);
        message::finish(&mut self.out, self.next_id);
    }
}
