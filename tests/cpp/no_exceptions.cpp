// multifora.hpp without exceptions: everything is reached through Status.
#include "multifora.hpp"

#include <cstdio>

#ifdef MULTIFORA_EXCEPTIONS
#error "compile this with -fno-exceptions"
#endif

using namespace multifora;

int main() {
    Status status;
    Database db = Database::open(":memory:", nullptr, status);
    if (!status)
        return 1;
    Bytes insert = json_to_bson(R"({"insert": "c", "documents": [{"_id": 1}]})", status);
    db.command("test", insert, status);
    Bytes again = db.command("test", insert, status);
    check_reply(again, status);
    if (status.code() != 11000)
        return 2;
    Cursor cursor = db.find("test", "c", View{}, View{}, status);
    int n = 0;
    while (cursor.next(status))
        n++;
    Server server = db.serve(nullptr, status);
    if (!status || server.port() <= 0 || n != 1)
        return 3;
    std::puts("1 passed");
    return 0;
}
