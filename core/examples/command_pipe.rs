//! Runs commands from standard input on a database: one line "db<TAB>command as hex" in, one line with the
//! reply as hex out. The corpus under `tests/` drives the Rust API with it; it is also the shortest program
//! that uses the crate. The argument is the file, `:memory:` without one.

use multiforadb::{ConnectionInfo, Database, OpenOptions};
use std::io::{BufRead, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| String::from(":memory:"));
    let database = Database::open(&path, &OpenOptions::default())?;
    let connection = database.connect(ConnectionInfo::in_process("rust"));
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (db, hex) = line.split_once('\t').ok_or("a line is db<TAB>hex")?;
        let reply = connection.command_bytes(db, &from_hex(hex)?);
        let text: String = reply.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(out, "{text}")?;
        out.flush()?;
    }
    database.close()?;
    Ok(())
}

fn from_hex(text: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
    let digits = digits.ok_or("the command is not hex")?;
    Ok(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}
