//! Names of databases and collections: what MongoDB allows, and their key in the catalogue table.
//!
//! Every name that comes from outside passes here once; a [`Namespace`] that exists is valid. The key
//! is `db\0collection`: neither name can hold a NUL, so keys of one database stand together and
//! before those of any longer database name.

use multifora_model::{Error, ErrorCode, Result};
use std::fmt;

/// Longest database name, in bytes.
pub const MAX_DATABASE_NAME_BYTES: usize = 63;
/// Longest `database.collection`, in bytes.
pub const MAX_NAMESPACE_BYTES: usize = 255;

/// Characters that a database name must not hold (manual: Naming Restrictions).
const FORBIDDEN_IN_DATABASE: &[u8] = b"/\\. \"$\0";

/// `database.collection`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Namespace {
    /// Database name.
    pub db: String,
    /// Collection name.
    pub coll: String,
}

impl Namespace {
    /// A checked namespace, for reading or writing.
    pub fn new(db: &str, coll: &str) -> Result<Self> {
        check_database_name(db)?;
        if !is_valid_collection_name(coll) {
            return Err(invalid(format!("Invalid namespace specified '{db}.{coll}'")));
        }
        Ok(Namespace { db: db.to_owned(), coll: coll.to_owned() })
    }

    /// From `database.collection` in one string (renameCollection, bulkWrite's `nsInfo`).
    pub fn parse(full: &str) -> Result<Self> {
        match full.split_once('.') {
            Some((db, coll)) => Self::new(db, coll),
            None => Err(invalid(format!("Invalid namespace specified '{full}'"))),
        }
    }

    /// May a user create this collection?
    pub fn check_creatable(&self) -> Result<()> {
        let len_bytes = self.db.len() + 1 + self.coll.len();
        if len_bytes > MAX_NAMESPACE_BYTES {
            let text = format!(
                "Fully qualified namespace is too long. Namespace: {self} Max: {MAX_NAMESPACE_BYTES}"
            );
            return Err(invalid(text));
        }
        if self.is_system() && !self.is_known_system() {
            return Err(invalid(format!("Invalid system namespace: {self}")));
        }
        Ok(())
    }

    /// May a user write to this collection?
    pub fn check_writable(&self) -> Result<()> {
        if self.is_system() && !self.is_known_system() {
            return Err(invalid(format!("cannot write to '{self}'")));
        }
        Ok(())
    }

    /// A collection whose name begins with `system.`.
    pub fn is_system(&self) -> bool {
        self.coll.starts_with("system.")
    }

    fn is_known_system(&self) -> bool {
        let rest = self.coll.strip_prefix("system.").unwrap_or_default();
        match self.db.as_str() {
            "admin" if matches!(rest, "users" | "roles" | "version" | "keys") => true,
            "config" if matches!(rest, "sessions" | "preimages" | "indexBuilds") => true,
            "local" => true,
            _ => rest == "js",
        }
    }

    /// The key of its record in the catalogue table.
    pub fn key(&self) -> Vec<u8> {
        let mut key = database_prefix(&self.db);
        key.extend_from_slice(self.coll.as_bytes());
        key
    }

    /// The namespace with this key.
    pub fn from_key(key: &[u8]) -> Option<Self> {
        let at = key.iter().position(|b| *b == 0)?;
        let (db, coll) = key.split_at_checked(at)?;
        let text = |bytes| std::str::from_utf8(bytes).ok().map(str::to_owned);
        Some(Namespace { db: text(db)?, coll: text(coll.get(1..)?)? })
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.db, self.coll)
    }
}

/// First key of a database's collections; with its last byte raised, the first key after them.
pub fn database_prefix(db: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(db.len() + 1);
    key.extend_from_slice(db.as_bytes());
    key.push(0);
    key
}

/// Refuses a database name that MongoDB refuses.
pub fn check_database_name(db: &str) -> Result<()> {
    if db.is_empty() {
        return Err(invalid("Database name must not be empty"));
    }
    let forbidden = db.bytes().any(|b| FORBIDDEN_IN_DATABASE.contains(&b));
    if forbidden || db.len() > MAX_DATABASE_NAME_BYTES {
        return Err(invalid(format!("Invalid database name: '{db}'")));
    }
    Ok(())
}

fn is_valid_collection_name(coll: &str) -> bool {
    let dotted = coll.starts_with('.') || coll.ends_with('.');
    !coll.is_empty() && !dotted && !coll.bytes().any(|b| b == b'$' || b == 0)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidNamespace, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_refused() {
        let long_db = "d".repeat(64);
        for (db, coll) in [
            ("", "c"),
            ("a b", "c"),
            ("a.b", "c"),
            ("a/b", "c"),
            ("a\\b", "c"),
            ("a\"", "c"),
            ("a$", "c"),
            ("a\0", "c"),
            (long_db.as_str(), "c"),
            ("d", ""),
            ("d", ".a"),
            ("d", "a."),
            ("d", "$a"),
            ("d", "a$b"),
            ("d", "a\0b"),
        ] {
            let error = Namespace::new(db, coll).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidNamespace, "{db:?}.{coll:?}");
        }
    }

    #[test]
    fn names_that_are_allowed() {
        for (db, coll) in
            [("d", "x.y"), ("d", "ünï \"q\""), ("Test_1", "a b"), ("d", "systemic"), ("d", "a..b")]
        {
            Namespace::new(db, coll).unwrap().check_creatable().unwrap();
        }
    }

    #[test]
    fn creation_has_further_rules() {
        let ns = |db: &str, coll: &str| Namespace::new(db, coll).unwrap();
        assert!(ns("d", "system.foo").check_creatable().is_err());
        assert!(ns("d", "system.js").check_creatable().is_ok());
        assert!(ns("admin", "system.users").check_creatable().is_ok());
        assert!(ns("d", &"c".repeat(253)).check_creatable().is_ok());
        assert!(ns("d", &"c".repeat(254)).check_creatable().is_err());
    }

    #[test]
    fn keys_round_trip_and_keep_databases_together() {
        let ns = Namespace::new("d", "a.b").unwrap();
        assert_eq!(Namespace::from_key(&ns.key()), Some(ns));
        assert!(Namespace::new("d", "zzz").unwrap().key() < Namespace::new("d1", "a").unwrap().key());
    }
}
