/*
 * MultiforaDB 0.1.0: documents in one file, no server to install.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Generated from the crate in capi/ (cargo test -p multifora-capi; UPDATE_HEADER=1 rewrites it). Do not edit.
 *
 * RULES, once for all functions
 *
 * One verb. A database command (MongoDB's own, as a BSON document) goes in, its reply comes out:
 * mf_command. Cursors, sessions and the listener are conveniences around it. Where no BSON library is at
 * hand, mf_json_to_bson and mf_bson_to_json translate Extended JSON.
 *
 * Status. Every call that can fail returns an int32_t: MF_OK, MF_DONE (cursors only), MF_ERROR (the
 * database refused; MongoDB's code is in the error), MF_MISUSE (an argument breaks these rules) or
 * MF_INTERNAL (the library broke a promise of its own: that database handle is poisoned, close it).
 *
 * Errors. `error`, always the last parameter, may be NULL. Otherwise it points to an mf_error of the
 * caller, which is cleared on success and filled on failure. It holds no pointers and needs no freeing.
 *
 * Ownership. Handles (mf_database, mf_session, mf_cursor, mf_server) belong to the caller until the function that
 * closes them; freeing or closing NULL does nothing. mf_bytes that a function fills belong to the caller:
 * mf_bytes_free. Documents from mf_cursor_next belong to the cursor and live until the next call on
 * it. Arguments are only read during the call. Out parameters are set to NULL or to no bytes when the call fails.
 * Close cursors, sessions and servers before their database.
 *
 * Threads. An mf_database may be used by any number of threads at once; so may mf_interrupt. A cursor and a
 * session belong to one thread at a time and may move between threads. An mf_error and an mf_bytes are
 * plain memory. mf_close and the other closing functions must not run beside another call on the same handle.
 * A handle does not survive fork: open the file in the child.
 *
 * Strings are NUL-terminated UTF-8. A byte argument is a pointer and a length; NULL is allowed only where the
 * function says so, with length 0. A document argument's length must equal the document's own.
 *
 * Versions. Structures with options begin with `size`: a program keeps working with a newer library, and an option
 * that an older library does not know is refused, not ignored. docs/versioning.md has the whole policy.
 */


#ifndef MULTIFORA_H
#define MULTIFORA_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header; mf_version() tells that of the library. */
#define MF_VERSION "0.1.0"
#define MF_VERSION_MAJOR 0
#define MF_VERSION_MINOR 1
#define MF_VERSION_PATCH 0

/**
 * The call did what it says.
 */
#define MF_OK 0

/**
 * The cursor has no further document.
 */
#define MF_DONE 1

/**
 * The database refused or failed; `mf_error.code` is MongoDB's error code.
 */
#define MF_ERROR 2

/**
 * An argument breaks this header's rules (NULL, wrong length, not UTF-8, malformed BSON framing).
 */
#define MF_MISUSE 3

/**
 * The library broke a promise of its own; the database handle is poisoned: close it.
 */
#define MF_INTERNAL 4

/**
 * Bytes in `mf_error.code_name`, final NUL included.
 */
#define MF_CODE_NAME_SIZE 64

/**
 * Bytes in `mf_error.message`, final NUL included.
 */
#define MF_MESSAGE_SIZE 1024

/**
 * Opens for reading only; the file must exist and nothing is written to it.
 */
#define MF_OPEN_READ_ONLY 1

/**
 * Fails when the file does not exist, instead of creating it.
 */
#define MF_OPEN_EXISTING 2

/**
 * Writes new data without compressing it.
 */
#define MF_OPEN_UNCOMPRESSED 4

/**
 * Relaxed Extended JSON: numbers as plain as JSON allows.
 */
#define MF_JSON_RELAXED 0

/**
 * Canonical Extended JSON: every number with its type, nothing lost.
 */
#define MF_JSON_CANONICAL 1

/**
 * The documents a query gives, one after the other. Opaque. Belongs to one thread at a time.
 */
typedef struct mf_cursor mf_cursor;

/**
 * An open file. Opaque.
 */
typedef struct mf_database mf_database;

/**
 * A running listener. Opaque.
 */
typedef struct mf_server mf_server;

/**
 * A logical session. Opaque. Belongs to one thread at a time.
 */
typedef struct mf_session mf_session;

/**
 * Bytes that the library allocated. Free them with `mf_bytes_free`, never with `free`.
 * One NUL byte stands behind the data (not counted in `len`), so that text can be printed as it is.
 */
typedef struct {
    /**
     * The bytes, NULL when there are none.
     */
    uint8_t *data;
    /**
     * How many.
     */
    size_t len;
} mf_bytes;

/**
 * How to open a file. Zero in a field means its default, so begin with all zeros:
 * `mf_open_options options = { .size = sizeof options };`
 */
typedef struct {
    /**
     * `sizeof(mf_open_options)`: tells the library which fields you know.
     */
    size_t size;
    /**
     * Memory for cached data, in bytes.
     */
    uint64_t cache_bytes;
    /**
     * `MF_OPEN_…`, added together.
     */
    uint32_t flags;
    /**
     * Acknowledge writes before they are on disk, and sync at the latest after this many milliseconds.
     * 0: every acknowledged write is on disk.
     */
    uint32_t sync_every_ms;
    /**
     * Seconds between two removals of expired documents (TTL indexes); -1: never.
     */
    int32_t ttl_sweep_secs;
    /**
     * Must be 0.
     */
    int32_t reserved;
} mf_open_options;

/**
 * What went wrong. Owned by the caller; written by a call that fails and cleared by one that does
 * not. Pass NULL where it is not wanted.
 */
typedef struct {
    /**
     * MongoDB's error code (11000 for a duplicate key), 0 when there is no error.
     */
    int32_t code;
    /**
     * MongoDB's name of the code ("DuplicateKey"), NUL-terminated.
     */
    char code_name[MF_CODE_NAME_SIZE];
    /**
     * The text, NUL-terminated UTF-8, cut at a character when it is too long.
     */
    char message[MF_MESSAGE_SIZE];
} mf_error;

/**
 * Where to listen. Zero in a field means its default, so begin with all zeros:
 * `mf_serve_options options = { .size = sizeof options };`
 */
typedef struct {
    /**
     * `sizeof(mf_serve_options)`: tells the library which fields you know.
     */
    size_t size;
    /**
     * Address to bind, "127.0.0.1" when NULL.
     */
    const char *bind;
    /**
     * Path of a Unix socket to listen on as well; none when NULL.
     */
    const char *socket_path;
    /**
     * Present the server as the only member of a replica set of this name; not when NULL.
     */
    const char *replica_set;
    /**
     * HOST:PORT that the replica set announces; the bound address when NULL.
     */
    const char *advertise;
    /**
     * TCP port; 0 lets the system choose a free one (see `mf_server_port`), -1 listens on no TCP port.
     */
    int32_t port;
    /**
     * Must be 0.
     */
    int32_t reserved;
} mf_serve_options;

/**
 * Told now and then how far long work is: `done` of `total` records. Return 0 to go on; anything else stops the work,
 * which then fails with code 11601, Interrupted. Called on the thread that does the work; must not unwind.
 */
typedef int32_t (*mf_progress)(uint64_t done, uint64_t total, void *user_data);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library that is loaded, "MAJOR.MINOR.PATCH"; `MF_VERSION` is that of the header.
 * Never NULL, never freed.
 */
const char *mf_version(void);

/**
 * Frees bytes from this library and sets them to none. NULL, all zero, and bytes already freed through
 * the same structure are no-ops.
 */
void mf_bytes_free(mf_bytes *bytes);

/**
 * Opens the file at `path`, creating it when it is not there; ":memory:" gives a private database
 * in memory. `options` may be NULL. On success `*database` is a handle for `mf_close`; on failure it
 * is NULL and nothing needs closing.
 */
int32_t mf_open(const char *path, const mf_open_options *options, mf_database **database, mf_error *error);

/**
 * Closes the file: stops what runs, writes a checkpoint and releases the lock. The handle is freed
 * whatever the status says. Must be the last call on the handle and run beside no other; close its
 * cursors, sessions and servers first. NULL is a no-op.
 */
int32_t mf_close(mf_database *database, mf_error *error);

/**
 * Stops every command that runs at this moment through this handle (sessions and cursors included);
 * each fails with code 11601, Interrupted. Commands that start later are not affected. May be called
 * from any thread.
 */
int32_t mf_interrupt(mf_database *database, mf_error *error);

/**
 * Starts a session. On success `*session` is a handle for `mf_session_end`, else NULL.
 */
int32_t mf_session_start(mf_database *database, mf_session **session, mf_error *error);

/**
 * Ends a session and frees it; a transaction it left open is aborted. NULL is a no-op.
 */
void mf_session_end(mf_session *session);

/**
 * Runs a database command, a BSON document, for the database `db_name` and gives the reply document.
 * `session` may be NULL; otherwise its `lsid` is added. `reply` may be NULL when only the status is
 * wanted.
 *
 * The status is `MF_ERROR` when the reply says `ok: 0`; `error` then holds its code and text, and the
 * reply is given all the same. A reply with `ok: 1` may still carry `writeErrors`: see
 * `mf_reply_check`.
 */
int32_t mf_command(mf_database *database,
                   mf_session *session,
                   const char *db_name,
                   const uint8_t *command,
                   size_t command_len,
                   mf_bytes *reply,
                   mf_error *error);

/**
 * Looks into a reply: `MF_OK` when it says `ok: 1` and has neither `writeErrors` nor a
 * `writeConcernError`; otherwise `MF_ERROR`, with the first of these errors in `error`.
 */
int32_t mf_reply_check(const uint8_t *reply, size_t reply_len, mf_error *error);

/**
 * Starts a query: all documents of `collection` that match `filter`. `options` is a document with
 * further fields of MongoDB's find command (`sort`, `projection`, `limit`, `batchSize`, …). `filter`
 * and `options` may be NULL with length 0. `session` may be NULL.
 */
int32_t mf_find(mf_database *database,
                mf_session *session,
                const char *db_name,
                const char *collection,
                const uint8_t *filter,
                size_t filter_len,
                const uint8_t *options,
                size_t options_len,
                mf_cursor **cursor,
                mf_error *error);

/**
 * Starts an aggregation. `pipeline` is a document whose values, in order, are the stages: a BSON array
 * as a document, `{"0": {$match: …}, "1": {$group: …}}`. `options` is a document with further fields
 * of MongoDB's aggregate command (`cursor: {batchSize: …}`, `let`, …) and may be NULL with length 0.
 * `collection` NULL stands for an aggregation on the database. `session` may be NULL.
 */
int32_t mf_aggregate(mf_database *database,
                     mf_session *session,
                     const char *db_name,
                     const char *collection,
                     const uint8_t *pipeline,
                     size_t pipeline_len,
                     const uint8_t *options,
                     size_t options_len,
                     mf_cursor **cursor,
                     mf_error *error);

/**
 * Runs any command that answers with a cursor (find, aggregate, listCollections, listIndexes, …).
 */
int32_t mf_cursor_open(mf_database *database,
                       mf_session *session,
                       const char *db_name,
                       const uint8_t *command,
                       size_t command_len,
                       mf_cursor **cursor,
                       mf_error *error);

/**
 * Gives the next document: `MF_OK` with `*doc` and `*doc_len`, or `MF_DONE` at the end. The bytes
 * belong to the cursor and stay valid until the next call on it.
 */
int32_t mf_cursor_next(mf_cursor *cursor, const uint8_t **doc, size_t *doc_len, mf_error *error);

/**
 * Closes a cursor, at its end or before, and frees it. NULL is a no-op.
 */
void mf_cursor_close(mf_cursor *cursor);

/**
 * Starts a listener on the open file, so that MongoDB drivers and tools can connect. `options` may be
 * NULL: a free port on the loopback address. On success `*server` is a handle for `mf_server_stop`.
 */
int32_t mf_serve(mf_database *database, const mf_serve_options *options, mf_server **server, mf_error *error);

/**
 * The TCP port the listener is bound to, -1 when it has none or `server` is NULL.
 */
int32_t mf_server_port(const mf_server *server);

/**
 * Stops a listener: closes its connections, waits for their running commands and frees the handle,
 * whatever the status says. The database stays open. NULL is a no-op.
 */
int32_t mf_server_stop(mf_server *server, mf_error *error);

/**
 * Writes the database as it is now into the new file at `path`, while other threads go on reading and
 * writing; what they commit later is not in it. The file must not exist, and none is left when this fails.
 * `progress` may be NULL; it is given `user_data`. `mf_interrupt` stops it like a command.
 */
int32_t mf_database_backup(mf_database *database,
                           const char *path,
                           mf_progress progress,
                           void *user_data,
                           mf_error *error);

/**
 * Turns one Extended JSON (v2, relaxed or canonical) object into a BSON document. `json` need not be
 * NUL-terminated.
 */
int32_t mf_json_to_bson(const char *json, size_t json_len, mf_bytes *bson, mf_error *error);

/**
 * Turns a BSON document into Extended JSON text: `MF_JSON_RELAXED` or `MF_JSON_CANONICAL`.
 */
int32_t mf_bson_to_json(const uint8_t *bson, size_t bson_len, int32_t mode, mf_bytes *json, mf_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MULTIFORA_H */
