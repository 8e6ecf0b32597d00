/* What the C test programs share: checks that name their line, and documents from Extended JSON. */
#ifndef CHECK_H
#define CHECK_H

#include "multifora.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks_passed;

/* A check that fails ends the program: what follows would only be noise. */
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            exit(1);                                                                                         \
        }                                                                                                    \
        checks_passed++;                                                                                     \
    } while (0)

#define CHECK_STATUS(call, wanted)                                                                           \
    do {                                                                                                     \
        int32_t status_ = (call);                                                                            \
        if (status_ != (wanted)) {                                                                           \
            fprintf(stderr, "%s:%d: %s gave status %d: %d %s\n", __FILE__, __LINE__, #call, (int)status_,    \
                    (int)error.code, error.message);                                                         \
            exit(1);                                                                                         \
        }                                                                                                    \
        checks_passed++;                                                                                     \
    } while (0)

/* A document from Extended JSON; free it with mf_bytes_free. */
static inline mf_bytes doc(const char *json) {
    mf_bytes out;
    mf_error error;
    CHECK_STATUS(mf_json_to_bson(json, strlen(json), &out, &error), MF_OK);
    return out;
}

/* A document as relaxed Extended JSON; free it with mf_bytes_free. */
static inline mf_bytes text_of(const uint8_t *data, size_t len) {
    mf_bytes out;
    mf_error error;
    CHECK_STATUS(mf_bson_to_json(data, len, MF_JSON_RELAXED, &out, &error), MF_OK);
    return out;
}

/* Runs a command given as Extended JSON; the status is the caller's business. */
static inline int32_t run(mf_database *db, mf_session *session, const char *json, mf_bytes *reply,
                          mf_error *error) {
    mf_bytes command = doc(json);
    int32_t status = mf_command(db, session, "test", command.data, command.len, reply, error);
    mf_bytes_free(&command);
    return status;
}

/* Runs a command that must succeed and whose reply must contain `wanted` as text. */
static inline void run_expecting(mf_database *db, const char *json, const char *wanted) {
    mf_bytes reply;
    mf_error error;
    CHECK_STATUS(run(db, NULL, json, &reply, &error), MF_OK);
    CHECK(error.code == 0 && error.message[0] == '\0');
    mf_bytes text = text_of(reply.data, reply.len);
    if (strstr((const char *)text.data, wanted) == NULL)
        fprintf(stderr, "%s\n  answered %s\n  wanted   %s\n", json, (const char *)text.data, wanted);
    CHECK(strstr((const char *)text.data, wanted) != NULL);
    mf_bytes_free(&text);
    mf_bytes_free(&reply);
}

#endif
