/* A C program that uses the whole of multifora.h: each function below is one subject.
   Argument: a folder to work in. Last line: how many subjects passed. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>

enum { THREADS = 4, INSERTS_PER_THREAD = 25, MANY = 1000 };

static const char *folder;
static char path[4096];

static mf_database *open_file(void) {
    mf_database *db = NULL;
    mf_error error;
    CHECK_STATUS(mf_open(path, NULL, &db, &error), MF_OK);
    CHECK(db != NULL);
    return db;
}

static void version(void) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%d.%d.%d", MF_VERSION_MAJOR, MF_VERSION_MINOR, MF_VERSION_PATCH);
    CHECK(strcmp(mf_version(), MF_VERSION) == 0);
    CHECK(strcmp(wanted, MF_VERSION) == 0);
}

static void crud(void) {
    mf_database *db = open_file();
    run_expecting(db, "{\"insert\": \"c\", \"documents\": [{\"_id\": 1, \"a\": 5}, {\"_id\": 2, \"a\": 7}]}", "\"n\":2");
    run_expecting(db, "{\"find\": \"c\", \"filter\": {\"a\": {\"$gt\": 5}}}", "\"_id\":2");
    run_expecting(db, "{\"update\": \"c\", \"updates\": [{\"q\": {\"_id\": 1}, \"u\": {\"$set\": {\"a\": 9}}}]}",
                  "\"nModified\":1");
    run_expecting(db, "{\"delete\": \"c\", \"deletes\": [{\"q\": {\"_id\": 2}, \"limit\": 1}]}", "\"n\":1");
    run_expecting(db, "{\"count\": \"c\"}", "\"n\":1");
    mf_error error;
    CHECK_STATUS(mf_close(db, &error), MF_OK);
    db = open_file();
    run_expecting(db, "{\"find\": \"c\"}", "\"a\":9");
    CHECK_STATUS(mf_close(db, &error), MF_OK);
}

static void errors(void) {
    mf_database *db = open_file();
    mf_error error;
    mf_bytes reply;
    /* A command that is refused: code, name, text, and the reply all the same. */
    CHECK_STATUS(run(db, NULL, "{\"noSuchCommand\": 1}", &reply, &error), MF_ERROR);
    CHECK(error.code == 59);
    CHECK(strcmp(error.code_name, "CommandNotFound") == 0);
    CHECK(strstr(error.message, "noSuchCommand") != NULL);
    CHECK(reply.data != NULL && reply.len > 5);
    mf_bytes_free(&reply);
    CHECK(reply.data == NULL && reply.len == 0);
    mf_bytes_free(&reply);
    CHECK_STATUS(run(db, NULL, "{\"find\": \"c\", \"filter\": {\"a\": {\"$bogus\": 1}}}", NULL, NULL), MF_ERROR);
    /* A write error is in a reply that says ok: 1. */
    const char *insert = "{\"insert\": \"e\", \"documents\": [{\"_id\": 1}]}";
    run_expecting(db, insert, "\"n\":1");
    CHECK_STATUS(run(db, NULL, insert, &reply, &error), MF_OK);
    CHECK_STATUS(mf_reply_check(reply.data, reply.len, &error), MF_ERROR);
    CHECK(error.code == 11000);
    CHECK(strcmp(error.code_name, "DuplicateKey") == 0);
    CHECK(strstr(error.message, "E11000") != NULL);
    mf_bytes_free(&reply);
    /* Success clears the error. */
    CHECK_STATUS(run(db, NULL, "{\"ping\": 1}", &reply, &error), MF_OK);
    CHECK(error.code == 0 && error.message[0] == '\0');
    CHECK_STATUS(mf_reply_check(reply.data, reply.len, &error), MF_OK);
    mf_bytes_free(&reply);
    CHECK_STATUS(mf_close(db, &error), MF_OK);
}

static void insert_many(mf_database *db, const char *collection, int n) {
    char *json = malloc((size_t)n * 32 + 128);
    CHECK(json != NULL);
    int at = sprintf(json, "{\"insert\": \"%s\", \"documents\": [", collection);
    for (int i = 0; i < n; i++)
        at += sprintf(json + at, "%s{\"_id\": %d}", i == 0 ? "" : ", ", i);
    sprintf(json + at, "]}");
    mf_error error;
    CHECK_STATUS(run(db, NULL, json, NULL, &error), MF_OK);
    free(json);
}

static int drain(mf_cursor *cursor) {
    const uint8_t *found;
    size_t len;
    mf_error error;
    int n = 0;
    int32_t status;
    while ((status = mf_cursor_next(cursor, &found, &len, &error)) == MF_OK) {
        CHECK(len >= 5 && found[len - 1] == 0);
        n++;
    }
    CHECK(status == MF_DONE);
    CHECK(found == NULL && len == 0);
    CHECK_STATUS(mf_cursor_next(cursor, &found, &len, &error), MF_DONE);
    return n;
}

static void cursors(void) {
    mf_database *db = open_file();
    mf_error error;
    mf_cursor *cursor;
    insert_many(db, "many", MANY);
    /* Batches of 7: everything comes through getMore. */
    mf_bytes options = doc("{\"batchSize\": 7, \"sort\": {\"_id\": -1}}");
    CHECK_STATUS(mf_find(db, NULL, "test", "many", NULL, 0, options.data, options.len, &cursor, &error), MF_OK);
    CHECK(drain(cursor) == MANY);
    mf_cursor_close(cursor);
    /* Closed before its end. */
    CHECK_STATUS(mf_find(db, NULL, "test", "many", NULL, 0, options.data, options.len, &cursor, &error), MF_OK);
    const uint8_t *found;
    size_t len;
    CHECK_STATUS(mf_cursor_next(cursor, &found, &len, &error), MF_OK);
    mf_bytes text = text_of(found, len);
    CHECK(strcmp((const char *)text.data, "{\"_id\":999}") == 0);
    mf_bytes_free(&text);
    mf_cursor_close(cursor);
    mf_bytes_free(&options);

    mf_bytes filter = doc("{\"_id\": {\"$gte\": 990}}");
    CHECK_STATUS(mf_find(db, NULL, "test", "many", filter.data, filter.len, NULL, 0, &cursor, &error), MF_OK);
    CHECK(drain(cursor) == 10);
    mf_cursor_close(cursor);
    mf_bytes_free(&filter);

    mf_bytes pipeline = doc("{\"0\": {\"$match\": {\"_id\": {\"$lt\": 10}}},"
                            " \"1\": {\"$group\": {\"_id\": null, \"sum\": {\"$sum\": \"$_id\"}}}}");
    CHECK_STATUS(mf_aggregate(db, NULL, "test", "many", pipeline.data, pipeline.len, NULL, 0, &cursor, &error),
                 MF_OK);
    CHECK_STATUS(mf_cursor_next(cursor, &found, &len, &error), MF_OK);
    text = text_of(found, len);
    CHECK(strstr((const char *)text.data, "\"sum\":45") != NULL);
    mf_bytes_free(&text);
    mf_cursor_close(cursor);
    mf_bytes_free(&pipeline);

    mf_bytes list = doc("{\"listCollections\": 1}");
    CHECK_STATUS(mf_cursor_open(db, NULL, "test", list.data, list.len, &cursor, &error), MF_OK);
    CHECK(drain(cursor) >= 2);
    mf_cursor_close(cursor);
    mf_bytes_free(&list);

    mf_bytes ping = doc("{\"ping\": 1}");
    CHECK_STATUS(mf_cursor_open(db, NULL, "test", ping.data, ping.len, &cursor, &error), MF_MISUSE);
    CHECK(cursor == NULL);
    mf_bytes_free(&ping);
    CHECK_STATUS(mf_close(db, &error), MF_OK);
}

static void sessions(void) {
    mf_database *db = open_file();
    mf_database *other = NULL;
    mf_session *session = NULL;
    mf_error error;
    CHECK_STATUS(mf_session_start(db, &session, &error), MF_OK);
    mf_bytes reply;
    /* A retryable write that is sent twice is applied once. */
    const char *increment = "{\"update\": \"s\", \"updates\": [{\"q\": {\"_id\": 1}, \"u\": {\"$inc\": {\"n\": 1}},"
                            " \"upsert\": true}], \"txnNumber\": {\"$numberLong\": \"1\"}}";
    CHECK_STATUS(run(db, session, increment, &reply, &error), MF_OK);
    mf_bytes_free(&reply);
    CHECK_STATUS(run(db, session, increment, NULL, &error), MF_OK);
    run_expecting(db, "{\"find\": \"s\"}", "\"n\":1}");
    CHECK_STATUS(mf_open(":memory:", NULL, &other, &error), MF_OK);
    CHECK_STATUS(run(other, session, "{\"ping\": 1}", NULL, &error), MF_MISUSE);
    mf_session_end(session);
    CHECK_STATUS(mf_close(other, &error), MF_OK);
    CHECK_STATUS(mf_close(db, &error), MF_OK);
}

static void null_and_wrong_input(void) {
    mf_error error;
    mf_database *db = NULL;
    mf_cursor *cursor = NULL;
    mf_session *session = NULL;
    mf_server *server = NULL;
    mf_bytes out = {NULL, 0};
    const uint8_t *found;
    size_t len;
    mf_bytes ping = doc("{\"ping\": 1}");
    const uint8_t *data = ping.data;

    /* Freeing and closing NULL. */
    mf_bytes_free(NULL);
    mf_bytes_free(&out);
    mf_cursor_close(NULL);
    mf_session_end(NULL);
    CHECK_STATUS(mf_server_stop(NULL, &error), MF_OK);
    CHECK_STATUS(mf_close(NULL, &error), MF_OK);
    CHECK(mf_close(NULL, NULL) == MF_OK);
    CHECK(mf_server_port(NULL) == -1);

    /* NULL where something is needed. */
    CHECK_STATUS(mf_open(NULL, NULL, &db, &error), MF_MISUSE);
    CHECK(db == NULL);
    CHECK(error.code == 2);
    CHECK_STATUS(mf_open(":memory:", NULL, NULL, &error), MF_MISUSE);
    CHECK_STATUS(mf_open("\xff\xfe", NULL, &db, &error), MF_MISUSE);
    CHECK_STATUS(mf_open(":memory:", NULL, &db, &error), MF_OK);
    CHECK_STATUS(mf_command(NULL, NULL, "test", data, ping.len, &out, &error), MF_MISUSE);
    CHECK_STATUS(mf_command(db, NULL, NULL, data, ping.len, &out, &error), MF_MISUSE);
    CHECK_STATUS(mf_command(db, NULL, "test", NULL, 0, &out, &error), MF_MISUSE);
    CHECK_STATUS(mf_command(db, NULL, "test", NULL, ping.len, &out, &error), MF_MISUSE);
    CHECK(mf_command(db, NULL, "test", NULL, ping.len, NULL, NULL) == MF_MISUSE);
    CHECK_STATUS(mf_interrupt(NULL, &error), MF_MISUSE);
    session = (mf_session *)&out;
    CHECK_STATUS(mf_session_start(NULL, &session, &error), MF_MISUSE);
    CHECK(session == NULL);
    CHECK_STATUS(mf_session_start(db, NULL, &error), MF_MISUSE);
    CHECK_STATUS(mf_find(db, NULL, "test", NULL, NULL, 0, NULL, 0, &cursor, &error), MF_MISUSE);
    CHECK_STATUS(mf_find(db, NULL, "test", "c", NULL, 0, NULL, 0, NULL, &error), MF_MISUSE);
    CHECK_STATUS(mf_aggregate(db, NULL, "test", "c", NULL, 0, NULL, 0, &cursor, &error), MF_MISUSE);
    CHECK_STATUS(mf_cursor_next(NULL, &found, &len, &error), MF_MISUSE);
    CHECK_STATUS(mf_serve(NULL, NULL, &server, &error), MF_MISUSE);
    CHECK_STATUS(mf_serve(db, NULL, NULL, &error), MF_MISUSE);
    CHECK_STATUS(mf_json_to_bson(NULL, 5, &out, &error), MF_MISUSE);
    CHECK_STATUS(mf_json_to_bson("{}", 2, NULL, &error), MF_MISUSE);
    CHECK_STATUS(mf_bson_to_json(NULL, 5, MF_JSON_RELAXED, &out, &error), MF_MISUSE);

    /* Lengths that are not the document's own, and beyond any message. */
    CHECK_STATUS(mf_command(db, NULL, "test", data, ping.len - 1, &out, &error), MF_MISUSE);
    CHECK_STATUS(mf_command(db, NULL, "test", data, 4, &out, &error), MF_MISUSE);
    CHECK_STATUS(mf_command(db, NULL, "test", data, SIZE_MAX, &out, &error), MF_MISUSE);
    CHECK_STATUS(mf_command(db, NULL, "test", data, (size_t)INT32_MAX + 1, &out, &error), MF_MISUSE);
    CHECK(strstr(error.message, "command") != NULL);

    /* Bytes that are not BSON inside. */
    uint8_t bad_type[] = {12, 0, 0, 0, 0x99, 'a', 0, 0, 0, 0, 0, 0};
    CHECK_STATUS(mf_command(db, NULL, "test", bad_type, sizeof bad_type, NULL, &error), MF_ERROR);
    CHECK(error.code == 22);
    CHECK_STATUS(mf_bson_to_json(bad_type, sizeof bad_type, MF_JSON_RELAXED, &out, &error), MF_ERROR);
    uint8_t long_string[] = {16, 0, 0, 0, 2, 'a', 0, 0xff, 0xff, 0xff, 0x7f, 'x', 0, 0, 0, 0};
    CHECK_STATUS(mf_command(db, NULL, "test", long_string, sizeof long_string, NULL, &error), MF_ERROR);
    CHECK_STATUS(mf_bson_to_json(data, ping.len, 7, &out, &error), MF_MISUSE);
    const char *not_json[] = {"", "{", "[1]", "{\"a\": }", "{\"a\": {\"$oid\": \"x\"}}", "{} x", "\xff"};
    for (size_t i = 0; i < sizeof not_json / sizeof *not_json; i++) {
        CHECK(mf_json_to_bson(not_json[i], strlen(not_json[i]), &out, &error) != MF_OK);
        CHECK(error.message[0] != '\0' && out.data == NULL);
    }

    /* Options: size, unknown bits, a newer structure. */
    struct {
        mf_open_options known;
        uint64_t newer;
    } options = {{0, 0, 0, 0, 0, 0}, 0};
    mf_database *with_options = NULL;
    CHECK_STATUS(mf_open(":memory:", &options.known, &with_options, &error), MF_MISUSE);
    options.known.size = sizeof options.known;
    options.known.flags = 1u << 30;
    CHECK_STATUS(mf_open(":memory:", &options.known, &with_options, &error), MF_MISUSE);
    options.known.flags = 0;
    options.known.size = sizeof options;
    options.newer = 1;
    CHECK_STATUS(mf_open(":memory:", &options.known, &with_options, &error), MF_MISUSE);
    options.newer = 0;
    options.known.cache_bytes = 8u << 20;
    CHECK_STATUS(mf_open(":memory:", &options.known, &with_options, &error), MF_OK);
    CHECK_STATUS(mf_close(with_options, &error), MF_OK);

    /* The database is as healthy as before. */
    CHECK_STATUS(mf_command(db, NULL, "test", data, ping.len, NULL, &error), MF_OK);
    mf_bytes_free(&ping);
    CHECK_STATUS(mf_close(db, &error), MF_OK);
}

static void files_that_cannot_be_opened(void) {
    mf_database *db = open_file();
    mf_database *second = NULL;
    mf_error error;
    CHECK_STATUS(mf_open(path, NULL, &second, &error), MF_ERROR);
    CHECK(second == NULL && strstr(error.message, "locked") != NULL);
    CHECK_STATUS(mf_close(db, &error), MF_OK);
    CHECK_STATUS(mf_open(folder, NULL, &second, &error), MF_ERROR);
    CHECK(strstr(error.message, folder) != NULL);

    char missing[4200];
    snprintf(missing, sizeof missing, "%s/missing.mfdb", folder);
    mf_open_options existing = {sizeof existing, 0, MF_OPEN_EXISTING, 0, 0, 0};
    CHECK_STATUS(mf_open(missing, &existing, &second, &error), MF_ERROR);
    CHECK(access(missing, F_OK) != 0 && errno == ENOENT);

    mf_open_options read_only = {sizeof read_only, 0, MF_OPEN_READ_ONLY, 0, 0, 0};
    CHECK_STATUS(mf_open(path, &read_only, &db, &error), MF_OK);
    run_expecting(db, "{\"count\": \"c\"}", "\"n\":1");
    CHECK_STATUS(run(db, NULL, "{\"insert\": \"c\", \"documents\": [{}]}", NULL, &error), MF_ERROR);
    CHECK_STATUS(mf_close(db, &error), MF_OK);
}

/* Sends a ping as OP_MSG and waits for a reply: the listener speaks the wire protocol. */
static void ping_over(int32_t port) {
    static const uint8_t message[] = {51, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0, 0, 0, 0, 0, 0,
                                      30, 0, 0, 0, 0x10, 'p', 'i', 'n', 'g', 0, 1, 0, 0, 0,
                                      2, '$', 'd', 'b', 0, 5, 0, 0, 0, 't', 'e', 's', 't', 0, 0};
    uint8_t copy[sizeof message];
    memcpy(copy, message, sizeof message);
    copy[0] = (uint8_t)sizeof message;
    copy[21] = (uint8_t)(sizeof message - 21);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(send(fd, copy, sizeof copy, 0) == (ssize_t)sizeof copy);
    uint8_t header[16];
    CHECK(recv(fd, header, sizeof header, MSG_WAITALL) == (ssize_t)sizeof header);
    CHECK(header[8] == 1 && header[12] == 0xdd && header[13] == 7);
    close(fd);
}

static void serve(void) {
    mf_database *db = open_file();
    mf_server *server = NULL;
    mf_error error;
    CHECK_STATUS(mf_serve(db, NULL, &server, &error), MF_OK);
    int32_t port = mf_server_port(server);
    CHECK(port > 0 && port <= 65535);
    ping_over(port);
    mf_serve_options options = {sizeof options, "127.0.0.1", NULL, NULL, NULL, port, 0};
    mf_server *second = NULL;
    CHECK_STATUS(mf_serve(db, &options, &second, &error), MF_ERROR);
    CHECK(second == NULL && error.message[0] != '\0');
    CHECK_STATUS(mf_server_stop(server, &error), MF_OK);
    options.port = 70000;
    CHECK_STATUS(mf_serve(db, &options, &second, &error), MF_MISUSE);
    options.port = 0;
    options.reserved = 1;
    CHECK_STATUS(mf_serve(db, &options, &second, &error), MF_MISUSE);
    run_expecting(db, "{\"ping\": 1}", "\"ok\":1");
    CHECK_STATUS(mf_close(db, &error), MF_OK);
}

/* Gives NULL, or the database when an insert failed. */
static void *insert_from_thread(void *argument) {
    mf_database *db = argument;
    mf_error error;
    for (int i = 0; i < INSERTS_PER_THREAD; i++) {
        mf_bytes reply;
        if (run(db, NULL, "{\"insert\": \"t\", \"documents\": [{\"x\": 1}]}", &reply, &error) != MF_OK ||
            mf_reply_check(reply.data, reply.len, &error) != MF_OK)
            return db;
        mf_bytes_free(&reply);
    }
    return NULL;
}

static void threads(void) {
    mf_database *db = open_file();
    pthread_t workers[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&workers[i], NULL, insert_from_thread, db) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *failure = NULL;
        CHECK(pthread_join(workers[i], &failure) == 0);
        CHECK(failure == NULL);
    }
    run_expecting(db, "{\"count\": \"t\"}", "\"n\":100");
    mf_error error;
    CHECK_STATUS(mf_close(db, &error), MF_OK);
}

static _Atomic int32_t interrupted_code;

/* Counts with a slow filter, over and over, until something fails; keeps the code of that failure. */
static void *count_until_interrupted(void *argument) {
    const char *count = "{\"count\": \"many\", \"query\": {\"$or\": [{\"_id\": {\"$not\": {\"$gte\": 0}}},"
                        " {\"a\": {\"$regex\": \"(x+x+)+y\"}}, {\"b\": {\"$elemMatch\": {\"c\": 1}}}]}}";
    mf_error error;
    while (run(argument, NULL, count, NULL, &error) == MF_OK)
        continue;
    interrupted_code = error.code;
    return NULL;
}

static void interrupt(void) {
    mf_database *db = open_file();
    mf_error error;
    pthread_t worker;
    CHECK(pthread_create(&worker, NULL, count_until_interrupted, db) == 0);
    /* Between two commands there is nothing to interrupt, so it may take more than one attempt. */
    for (int i = 0; interrupted_code == 0; i++) {
        CHECK(i < 100000);
        CHECK_STATUS(mf_interrupt(db, &error), MF_OK);
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    CHECK(pthread_join(worker, NULL) == 0);
    CHECK(interrupted_code == 11601);
    run_expecting(db, "{\"ping\": 1}", "\"ok\":1");
    CHECK_STATUS(mf_close(db, &error), MF_OK);
}

struct seen {
    int calls;
    int stop_at;
    uint64_t done, total;
};

static int32_t see(uint64_t done, uint64_t total, void *user_data) {
    struct seen *seen = user_data;
    CHECK(done <= total);
    seen->done = done;
    seen->total = total;
    return ++seen->calls == seen->stop_at;
}

static void backup(void) {
    mf_database *db = open_file();
    mf_error error;
    insert_many(db, "copied", MANY * 5);
    char copy[4200];
    snprintf(copy, sizeof copy, "%s.copy", path);
    /* Stopped: nothing is left of it. */
    struct seen seen = {0, 1, 0, 0};
    CHECK_STATUS(mf_database_backup(db, copy, see, &seen, &error), MF_ERROR);
    CHECK(error.code == 11601 && seen.calls == 1);
    CHECK(access(copy, F_OK) != 0);
    seen = (struct seen){0, 0, 0, 0};
    CHECK_STATUS(mf_database_backup(db, copy, see, &seen, &error), MF_OK);
    CHECK(seen.calls > 2 && seen.done == seen.total && seen.total >= MANY * 5);
    /* Not over a file, and not without a path. */
    CHECK_STATUS(mf_database_backup(db, copy, NULL, NULL, &error), MF_ERROR);
    CHECK(strstr(error.message, copy) != NULL);
    CHECK_STATUS(mf_database_backup(db, NULL, NULL, NULL, &error), MF_MISUSE);
    CHECK_STATUS(mf_database_backup(NULL, copy, NULL, NULL, &error), MF_MISUSE);
    CHECK_STATUS(mf_close(db, &error), MF_OK);
    CHECK_STATUS(mf_open(copy, NULL, &db, &error), MF_OK);
    run_expecting(db, "{\"count\": \"copied\"}", "\"n\":5000");
    CHECK_STATUS(mf_close(db, &error), MF_OK);
}

static const struct {
    const char *name;
    void (*run)(void);
} subjects[] = {
    {"version", version},
    {"insert, find, update, delete", crud},
    {"errors", errors},
    {"cursors", cursors},
    {"sessions", sessions},
    {"NULL and wrong input", null_and_wrong_input},
    {"files that cannot be opened", files_that_cannot_be_opened},
    {"serve", serve},
    {"threads", threads},
    {"interrupt", interrupt},
    {"backup", backup},
};

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    folder = argv[1];
    snprintf(path, sizeof path, "%s/consumer.mfdb", folder);
    size_t n = sizeof subjects / sizeof *subjects;
    for (size_t i = 0; i < n; i++) {
        subjects[i].run();
        printf("ok %s\n", subjects[i].name);
    }
    printf("%d checks\n%d passed\n", checks_passed, (int)n);
    return 0;
}
