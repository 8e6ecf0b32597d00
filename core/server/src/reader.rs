//! Whole messages out of a stream of bytes, in one reusable buffer.
//!
//! The buffer grows only as bytes arrive: a message that claims to be 48 MB costs nothing until it has sent
//! them. Small messages take one read.

use crate::limits::{HEADER_BYTES, KEPT_BUFFER_BYTES, MAX_MESSAGE_BYTES, READ_BYTES};
use crate::message::Header;
use std::io::{self, ErrorKind, Read};

/// Reads messages; bytes of the next message that came along are kept for it.
pub(crate) struct MessageReader {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of the message that was given out last; dropped at the next call.
    given_bytes: usize,
}

/// Why no further message comes.
#[derive(Debug)]
pub(crate) enum End {
    /// The peer closed the connection between two messages.
    Closed,
    /// The peer closed it in the middle of a message.
    Truncated,
    /// The header's length cannot be one.
    BadLength(i32),
    /// The system failed to read.
    Io(io::Error),
}

impl MessageReader {
    pub(crate) fn new() -> Self {
        MessageReader { buffer: vec![0; READ_BYTES], start: 0, end: 0, given_bytes: 0 }
    }

    /// The next whole message, header included.
    pub(crate) fn next(&mut self, stream: &mut impl Read) -> Result<(Header, &[u8]), End> {
        self.start += std::mem::take(&mut self.given_bytes);
        self.tidy();
        let header = loop {
            let have = self.buffer.get(self.start..self.end).unwrap_or_default();
            if let Some(header) = Header::parse(have) {
                break header;
            }
            self.fill(stream, HEADER_BYTES)?;
        };
        let len = usize::try_from(header.len_bytes).unwrap_or(0);
        if !(HEADER_BYTES..=MAX_MESSAGE_BYTES).contains(&len) {
            return Err(End::BadLength(header.len_bytes));
        }
        while self.end - self.start < len {
            self.fill(stream, len)?;
        }
        self.given_bytes = len;
        Ok((header, self.buffer.get(self.start..self.start + len).unwrap_or_default()))
    }

    /// Moves what is kept to the front, and gives a large buffer back when it is empty.
    fn tidy(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.buffer.len() > KEPT_BUFFER_BYTES {
                self.buffer = vec![0; READ_BYTES];
            }
        } else if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
    }

    /// One read; `message_bytes` is how long the message says it is.
    fn fill(&mut self, stream: &mut impl Read, message_bytes: usize) -> Result<(), End> {
        if self.end == self.buffer.len() {
            // Doubling: never more than twice what has arrived, never more than the message needs.
            let target = (self.buffer.len() * 2).min(message_bytes.max(READ_BYTES));
            self.buffer.resize(target.max(self.buffer.len() + 1), 0);
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        loop {
            match stream.read(room) {
                Ok(0) if self.end == self.start => return Err(End::Closed),
                Ok(0) => return Err(End::Truncated),
                Ok(n) => {
                    self.end += n;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(End::Io(error)),
            }
        }
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Closed => write!(f, "closed by the peer"),
            End::Truncated => write!(f, "closed by the peer in the middle of a message"),
            End::BadLength(n) => {
                write!(
                    f,
                    "not a MongoDB message: a length of {n} is outside {HEADER_BYTES} to {MAX_MESSAGE_BYTES} bytes"
                )
            }
            End::Io(error) => write!(f, "{error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(len: usize) -> Vec<u8> {
        let mut bytes = i32::try_from(len).unwrap().to_le_bytes().to_vec();
        bytes.resize(len, 7);
        bytes
    }

    /// Gives at most `step` bytes a read.
    struct Dribble<'a>(&'a [u8], usize);

    impl Read for Dribble<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(buf.len()).min(self.0.len());
            buf[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn messages_come_whole_however_the_bytes_arrive() {
        let sizes = [16, 17, READ_BYTES - 1, READ_BYTES, READ_BYTES + 1, 3 * READ_BYTES, 16, 2_000_000, 40];
        let stream: Vec<u8> = sizes.iter().flat_map(|n| message(*n)).collect();
        for step in [1, 15, 4096, usize::MAX] {
            if step == 1 && stream.len() > 5_000_000 {
                continue;
            }
            let (mut reader, mut source) = (MessageReader::new(), Dribble(&stream, step));
            for size in sizes {
                let (header, bytes) = reader.next(&mut source).unwrap();
                assert_eq!((header.len_bytes as usize, bytes.len()), (size, size));
                assert_eq!(bytes, message(size));
            }
            assert!(matches!(reader.next(&mut source), Err(End::Closed)));
        }
    }

    #[test]
    fn a_claimed_length_allocates_nothing() {
        let claim = 48_000_000_i32.to_le_bytes();
        let bytes = [&claim[..], &[0; 60]].concat();
        let mut reader = MessageReader::new();
        assert!(matches!(reader.next(&mut Dribble(&bytes, 100)), Err(End::Truncated)));
        assert!(reader.buffer.len() <= 2 * READ_BYTES);
    }

    #[test]
    fn lengths_that_cannot_be() {
        for len in [0, 15, -1, i32::MAX, i32::MIN, i32::try_from(MAX_MESSAGE_BYTES).unwrap() + 1] {
            let bytes = [&len.to_le_bytes()[..], &[0; 12]].concat();
            let end = MessageReader::new().next(&mut Dribble(&bytes, 100)).map(|_| ()).unwrap_err();
            assert!(matches!(end, End::BadLength(n) if n == len));
        }
    }
}
