// A C++ program that uses multifora.hpp: RAII, moves, both forms of errors. Argument: a folder to work in.
#include "multifora.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace multifora;

static int checks_passed = 0;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                             \
            std::exit(1);                                                                                    \
        }                                                                                                    \
        checks_passed++;                                                                                     \
    } while (0)

static_assert(!std::is_copy_constructible_v<Database> && std::is_nothrow_move_constructible_v<Database>);
static_assert(!std::is_copy_constructible_v<Cursor> && !std::is_copy_constructible_v<Bytes>);

static Bytes run(Database &db, const char *json) { return db.command("test", json_to_bson(json)); }

static bool contains(View bson, const char *text) { return bson_to_json(bson).find(text) != std::string::npos; }

static void crud(const std::string &path) {
    {
        Database db = Database::open(path);
        CHECK(contains(run(db, R"({"insert": "c", "documents": [{"_id": 1, "a": 5}, {"_id": 2, "a": 7}]})"), "\"n\":2"));
        CHECK(contains(run(db, R"({"find": "c", "filter": {"a": {"$gt": 5}}})"), "\"_id\":2"));
        Cursor cursor = db.find("test", "c");
        Cursor moved = std::move(cursor);
        int n = 0;
        while (auto found = moved.next())
            n += contains(*found, "\"_id\"") ? 1 : 0;
        CHECK(n == 2);
        Cursor sums = db.aggregate("test", "c",
                                   json_to_bson(R"({"0": {"$group": {"_id": null, "sum": {"$sum": "$a"}}}})"));
        auto sum = sums.next();
        CHECK(sum && contains(*sum, "\"sum\":12"));
    }
    Database again = Database::open(path);
    CHECK(contains(run(again, R"({"count": "c"})"), "\"n\":2"));
    again.close();
    CHECK(again.get() == nullptr);
}

static void errors(const std::string &path) {
    Database db = Database::open(path);
    try {
        run(db, R"({"noSuchCommand": 1})");
        CHECK(!"an unknown command must throw");
    } catch (const Error &error) {
        CHECK(error.code() == 59 && error.code_name() == "CommandNotFound");
        CHECK(std::string(error.what()).find("noSuchCommand") != std::string::npos);
    }
    Bytes reply = run(db, R"({"insert": "c", "documents": [{"_id": 1}]})");
    try {
        check_reply(reply);
        CHECK(!"a duplicate key must throw");
    } catch (const Error &error) {
        CHECK(error.code() == 11000);
    }
    Status status;
    Database second = Database::open(path, nullptr, status);
    CHECK(!status && status.value() == MF_ERROR && !status.message().empty());
    CHECK(second.get() == nullptr);
    second.command("test", View{}, status);
    CHECK(status.value() == MF_MISUSE);
    Cursor none;
    CHECK(!none.next(status) && status.value() == MF_MISUSE);
}

static void sessions_and_threads(const std::string &path) {
    Database db = Database::open(path);
    Session session = db.start_session();
    CHECK(contains(db.command("test", json_to_bson(R"({"ping": 1})"), &session), "\"ok\":1"));
    std::vector<std::thread> workers;
    for (int worker = 0; worker < 4; worker++)
        workers.emplace_back([&db] {
            Status status;
            Bytes insert = json_to_bson(R"({"insert": "t", "documents": [{"x": 1}]})", status);
            for (int i = 0; i < 10; i++)
                db.command("test", insert, status);
        });
    for (std::thread &worker : workers)
        worker.join();
    CHECK(contains(run(db, R"({"count": "t"})"), "\"n\":40"));
    db.interrupt();
}

static void serve(const std::string &path) {
    Database db = Database::open(path);
    Server server = db.serve();
    CHECK(server.port() > 0);
    server.stop();
    CHECK(server.port() == -1);
    Server in_destructor = db.serve();
    CHECK(in_destructor.port() > 0);
}

static void backup(const std::string &path) {
    Database db = Database::open(path);
    const std::string copy = path + ".copy", never = path + ".never";
    std::uint64_t last = 0, all = 0;
    db.backup(copy, [&](std::uint64_t done, std::uint64_t total) {
        last = done;
        all = total;
        return true;
    });
    CHECK(all > 0 && last == all);
    Database copied = Database::open(copy);
    CHECK(contains(run(copied, R"({"count": "t"})"), "\"n\":40"));
    Status status;
    db.backup(copy, status);
    CHECK(!status && std::string(status.message()).find(copy) != std::string::npos);
    db.backup(never, [](std::uint64_t, std::uint64_t) { return false; }, status);
    CHECK(status.code() == 11601);
    try {
        db.backup(never, [](std::uint64_t, std::uint64_t) -> bool { throw std::out_of_range("mine"); });
        CHECK(!"what the callback throws must come out");
    } catch (const std::out_of_range &thrown) {
        CHECK(std::string(thrown.what()) == "mine");
    }
    mf_open_options existing = {};
    existing.size = sizeof existing;
    existing.flags = MF_OPEN_EXISTING;
    CHECK(Database::open(never, &existing, status).get() == nullptr);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    const std::string path = std::string(argv[1]) + "/consumer_cpp.mfdb";
    const std::vector<std::pair<const char *, void (*)(const std::string &)>> subjects = {
        {"insert, find, aggregate", crud},
        {"errors", errors},
        {"sessions and threads", sessions_and_threads},
        {"serve", serve},
        {"backup", backup},
    };
    try {
        for (const auto &[name, run_subject] : subjects) {
            run_subject(path);
            std::printf("ok %s\n", name);
        }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "unexpected: %s\n", error.what());
        return 1;
    }
    std::printf("%d checks\n%zu passed\n", checks_passed, subjects.size());
    return 0;
}
