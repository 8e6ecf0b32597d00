/* Prints every document of a collection, in the order of _id, as hex: what a C program reads of a file that
   other doors have written. Arguments: FILE DATABASE COLLECTION. */
#include "check.h"

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s FILE DATABASE COLLECTION\n", argv[0]);
        return 2;
    }
    mf_database *db = NULL;
    mf_cursor *cursor = NULL;
    mf_error error;
    mf_open_options existing = {sizeof existing, 0, MF_OPEN_EXISTING, 0, 0, 0};
    CHECK_STATUS(mf_open(argv[1], &existing, &db, &error), MF_OK);
    mf_bytes options = doc("{\"sort\": {\"_id\": 1}}");
    CHECK_STATUS(mf_find(db, NULL, argv[2], argv[3], NULL, 0, options.data, options.len, &cursor, &error), MF_OK);
    mf_bytes_free(&options);
    const uint8_t *found;
    size_t len;
    int32_t status;
    while ((status = mf_cursor_next(cursor, &found, &len, &error)) == MF_OK) {
        for (size_t i = 0; i < len; i++)
            printf("%02x", found[i]);
        putchar('\n');
    }
    CHECK(status == MF_DONE);
    mf_cursor_close(cursor);
    CHECK_STATUS(mf_close(db, &error), MF_OK);
    return 0;
}
