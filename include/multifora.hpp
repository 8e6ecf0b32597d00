// MultiforaDB for C++17: thin owners (RAII) around multifora.h, no behaviour of their own.
// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Ownership, threads and versions: the rules at the top of multifora.h hold. Every class is movable,
// not copyable, and closes its handle in the destructor. Declare the Database before what comes from it,
// then everything is closed in the right order.
//
// Errors come in two forms, as in std::filesystem: with a Status& as last argument nothing is thrown and the Status
// tells the outcome; without it, multifora::Error is thrown. Where exceptions are off (-fno-exceptions)
// only the first form exists.
#ifndef MULTIFORA_HPP
#define MULTIFORA_HPP

#include "multifora.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define MULTIFORA_EXCEPTIONS 1
#include <exception>
#include <stdexcept>
#endif

namespace multifora {

// The outcome of a call.
class Status {
public:
    bool ok() const noexcept { return value_ == MF_OK || value_ == MF_DONE; }
    explicit operator bool() const noexcept { return ok(); }
    // MF_OK, MF_DONE, MF_ERROR, MF_MISUSE or MF_INTERNAL.
    std::int32_t value() const noexcept { return value_; }
    // MongoDB's error code, 0 when there is no error.
    std::int32_t code() const noexcept { return error_.code; }
    std::string_view code_name() const noexcept { return error_.code_name; }
    std::string_view message() const noexcept { return error_.message; }

    // For the classes below: where the C call writes, and what it returned.
    mf_error *slot() noexcept { return &error_; }
    void set(std::int32_t value) noexcept { value_ = value; }

private:
    std::int32_t value_ = MF_OK;
    mf_error error_ = {};
};

#ifdef MULTIFORA_EXCEPTIONS
class Error : public std::runtime_error {
public:
    explicit Error(const Status &status)
        : std::runtime_error(std::string(status.message())), status_(status) {}
    const Status &status() const noexcept { return status_; }
    std::int32_t code() const noexcept { return status_.code(); }
    std::string_view code_name() const noexcept { return status_.code_name(); }

private:
    Status status_;
};
#endif

// Bytes that belong to somebody else: a document, or text.
struct View {
    const std::uint8_t *data = nullptr;
    std::size_t size = 0;
};

// Bytes that the library allocated.
class Bytes {
public:
    Bytes() noexcept = default;
    Bytes(Bytes &&other) noexcept : raw_(std::exchange(other.raw_, mf_bytes{nullptr, 0})) {}
    Bytes &operator=(Bytes &&other) noexcept {
        std::swap(raw_, other.raw_);
        return *this;
    }
    Bytes(const Bytes &) = delete;
    Bytes &operator=(const Bytes &) = delete;
    ~Bytes() { mf_bytes_free(&raw_); }

    const std::uint8_t *data() const noexcept { return raw_.data; }
    std::size_t size() const noexcept { return raw_.len; }
    View view() const noexcept { return {raw_.data, raw_.len}; }
    operator View() const noexcept { return view(); }
    std::string_view text() const noexcept {
        return raw_.data ? std::string_view(reinterpret_cast<const char *>(raw_.data), raw_.len)
                         : std::string_view();
    }
    // For a C call to fill.
    mf_bytes *slot() noexcept {
        mf_bytes_free(&raw_);
        return &raw_;
    }

private:
    mf_bytes raw_ = {nullptr, 0};
};

namespace detail {

// Sole owner of a handle; Close is the C function that ends it.
template <class T, void (*Close)(T *)> class Handle {
public:
    Handle() noexcept = default;
    explicit Handle(T *raw) noexcept : raw_(raw) {}
    Handle(Handle &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    Handle &operator=(Handle &&other) noexcept {
        if (this != &other) {
            reset();
            raw_ = std::exchange(other.raw_, nullptr);
        }
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() { reset(); }

    T *get() const noexcept { return raw_; }
    T *release() noexcept { return std::exchange(raw_, nullptr); }
    void reset() noexcept {
        if (raw_)
            Close(std::exchange(raw_, nullptr));
    }

private:
    T *raw_ = nullptr;
};

inline void close_database(mf_database *raw) { mf_close(raw, nullptr); }
inline void stop_server(mf_server *raw) { mf_server_stop(raw, nullptr); }

// Hands mf_progress on to a callable, and keeps what that throws from unwinding through C.
template <class Progress> struct ProgressCall {
    std::remove_reference_t<Progress> &progress;
#ifdef MULTIFORA_EXCEPTIONS
    std::exception_ptr thrown = nullptr;
#endif

    static std::int32_t forward(std::uint64_t done, std::uint64_t total, void *user_data) {
        auto &call = *static_cast<ProgressCall *>(user_data);
#ifdef MULTIFORA_EXCEPTIONS
        try {
            return call.progress(done, total) ? 0 : 1;
        } catch (...) {
            call.thrown = std::current_exception();
            return 1;
        }
#else
        return call.progress(done, total) ? 0 : 1;
#endif
    }

    void rethrow() const {
#ifdef MULTIFORA_EXCEPTIONS
        if (thrown)
            std::rethrow_exception(thrown);
#endif
    }
};

#ifdef MULTIFORA_EXCEPTIONS
inline void raise(const Status &status) {
    if (!status.ok())
        throw Error(status);
}

// Makes the throwing form of a call out of the other one.
template <class Call> auto checked(Call call) {
    Status status;
    auto result = call(status);
    raise(status);
    return result;
}
#endif

} // namespace detail

enum class Json : std::int32_t { relaxed = MF_JSON_RELAXED, canonical = MF_JSON_CANONICAL };

inline Bytes json_to_bson(std::string_view json, Status &status) {
    Bytes out;
    status.set(mf_json_to_bson(json.data(), json.size(), out.slot(), status.slot()));
    return out;
}

inline std::string bson_to_json(View bson, Json mode, Status &status) {
    Bytes out;
    status.set(mf_bson_to_json(bson.data, bson.size, static_cast<std::int32_t>(mode), out.slot(), status.slot()));
    return std::string(out.text());
}

// `ok: 0`, write errors and write concern errors of a reply.
inline void check_reply(View reply, Status &status) {
    status.set(mf_reply_check(reply.data, reply.size, status.slot()));
}

// A logical session; belongs to one thread at a time.
class Session {
public:
    Session() noexcept = default;
    explicit Session(mf_session *raw) noexcept : handle_(raw) {}
    mf_session *get() const noexcept { return handle_.get(); }

private:
    detail::Handle<mf_session, mf_session_end> handle_;
};

// The documents of a query; belongs to one thread at a time.
class Cursor {
public:
    Cursor() noexcept = default;
    explicit Cursor(mf_cursor *raw) noexcept : handle_(raw) {}

    // The next document, nothing at the end or on failure. Its bytes live until the next call.
    std::optional<View> next(Status &status) {
        View found;
        status.set(mf_cursor_next(handle_.get(), &found.data, &found.size, status.slot()));
        if (status.value() != MF_OK)
            return std::nullopt;
        return found;
    }

    mf_cursor *get() const noexcept { return handle_.get(); }

#ifdef MULTIFORA_EXCEPTIONS
    std::optional<View> next() {
        return detail::checked([&](Status &s) { return next(s); });
    }
#endif

private:
    detail::Handle<mf_cursor, mf_cursor_close> handle_;
};

// A running listener.
class Server {
public:
    Server() noexcept = default;
    explicit Server(mf_server *raw) noexcept : handle_(raw) {}
    std::int32_t port() const noexcept { return mf_server_port(handle_.get()); }
    void stop(Status &status) { status.set(mf_server_stop(handle_.release(), status.slot())); }
    mf_server *get() const noexcept { return handle_.get(); }

#ifdef MULTIFORA_EXCEPTIONS
    void stop() {
        Status status;
        stop(status);
        detail::raise(status);
    }
#endif

private:
    detail::Handle<mf_server, detail::stop_server> handle_;
};

// An open file; any number of threads may use it at once.
class Database {
public:
    Database() noexcept = default;
    explicit Database(mf_database *raw) noexcept : handle_(raw) {}

    static Database open(const std::string &path, const mf_open_options *options, Status &status) {
        mf_database *raw = nullptr;
        status.set(mf_open(path.c_str(), options, &raw, status.slot()));
        return Database(raw);
    }
    // Closes and reports; the destructor closes silently.
    void close(Status &status) { status.set(mf_close(handle_.release(), status.slot())); }

    Bytes command(const std::string &db, View command, Status &status, const Session *session = nullptr) {
        Bytes reply;
        status.set(mf_command(get(), raw(session), db.c_str(), command.data, command.size, reply.slot(),
                              status.slot()));
        return reply;
    }
    Cursor find(const std::string &db, const std::string &collection, View filter, View options, Status &status,
                const Session *session = nullptr) {
        mf_cursor *cursor = nullptr;
        status.set(mf_find(get(), raw(session), db.c_str(), collection.c_str(), filter.data, filter.size,
                           options.data, options.size, &cursor, status.slot()));
        return Cursor(cursor);
    }
    Cursor aggregate(const std::string &db, const std::string &collection, View pipeline, View options,
                     Status &status, const Session *session = nullptr) {
        mf_cursor *cursor = nullptr;
        status.set(mf_aggregate(get(), raw(session), db.c_str(), collection.c_str(), pipeline.data,
                                pipeline.size, options.data, options.size, &cursor, status.slot()));
        return Cursor(cursor);
    }
    Cursor open_cursor(const std::string &db, View command, Status &status, const Session *session = nullptr) {
        mf_cursor *cursor = nullptr;
        status.set(mf_cursor_open(get(), raw(session), db.c_str(), command.data, command.size, &cursor,
                                  status.slot()));
        return Cursor(cursor);
    }
    Session start_session(Status &status) {
        mf_session *session = nullptr;
        status.set(mf_session_start(get(), &session, status.slot()));
        return Session(session);
    }
    Server serve(const mf_serve_options *options, Status &status) {
        mf_server *server = nullptr;
        status.set(mf_serve(get(), options, &server, status.slot()));
        return Server(server);
    }
    void interrupt(Status &status) { status.set(mf_interrupt(get(), status.slot())); }
    // Writes the database as it is now into a new file. `progress(done, total)` is called now and then and returns
    // whether to go on; it must not throw where exceptions are off.
    template <class Progress> void backup(const std::string &path, Progress &&progress, Status &status) {
        detail::ProgressCall<Progress> call{progress};
        status.set(mf_database_backup(get(), path.c_str(), call.forward, &call, status.slot()));
        call.rethrow();
    }
    void backup(const std::string &path, Status &status) {
        status.set(mf_database_backup(get(), path.c_str(), nullptr, nullptr, status.slot()));
    }

    mf_database *get() const noexcept { return handle_.get(); }

#ifdef MULTIFORA_EXCEPTIONS
    static Database open(const std::string &path, const mf_open_options *options = nullptr) {
        return detail::checked([&](Status &s) { return open(path, options, s); });
    }
    void close() {
        Status status;
        close(status);
        detail::raise(status);
    }
    Bytes command(const std::string &db, View body, const Session *session = nullptr) {
        return detail::checked([&](Status &s) { return command(db, body, s, session); });
    }
    Cursor find(const std::string &db, const std::string &collection, View filter = {}, View options = {},
                const Session *session = nullptr) {
        return detail::checked([&](Status &s) { return find(db, collection, filter, options, s, session); });
    }
    Cursor aggregate(const std::string &db, const std::string &collection, View pipeline, View options = {},
                     const Session *session = nullptr) {
        return detail::checked([&](Status &s) { return aggregate(db, collection, pipeline, options, s, session); });
    }
    Cursor open_cursor(const std::string &db, View command, const Session *session = nullptr) {
        return detail::checked([&](Status &s) { return open_cursor(db, command, s, session); });
    }
    Session start_session() {
        return detail::checked([&](Status &s) { return start_session(s); });
    }
    Server serve(const mf_serve_options *options = nullptr) {
        return detail::checked([&](Status &s) { return serve(options, s); });
    }
    void interrupt() {
        Status status;
        interrupt(status);
        detail::raise(status);
    }
    // What `progress` throws stops the backup and comes out of this call.
    template <class Progress, class = std::enable_if_t<!std::is_same_v<std::decay_t<Progress>, Status>>>
    void backup(const std::string &path, Progress &&progress) {
        Status status;
        backup(path, std::forward<Progress>(progress), status);
        detail::raise(status);
    }
    void backup(const std::string &path) {
        Status status;
        backup(path, status);
        detail::raise(status);
    }
#endif

private:
    static mf_session *raw(const Session *session) noexcept { return session ? session->get() : nullptr; }

    detail::Handle<mf_database, detail::close_database> handle_;
};

#ifdef MULTIFORA_EXCEPTIONS
inline Bytes json_to_bson(std::string_view json) {
    return detail::checked([&](Status &s) { return json_to_bson(json, s); });
}

inline std::string bson_to_json(View bson, Json mode = Json::relaxed) {
    return detail::checked([&](Status &s) { return bson_to_json(bson, mode, s); });
}

inline void check_reply(View reply) {
    Status status;
    check_reply(reply, status);
    detail::raise(status);
}
#endif

} // namespace multifora

#endif // MULTIFORA_HPP
