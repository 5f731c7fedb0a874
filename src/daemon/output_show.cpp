#include "daemon/output_show.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>
#include <vector>

namespace hf::daemon {

OutputShow::OutputShow(os::EventLoop& loop, const KeptJob& job, std::uint64_t position, Handlers handlers)
    : handlers_(std::move(handlers)),
      reader_(job.directory(), position),
      shown_(position),
      out_(loop, STDOUT_FILENO, [this](const std::string& why) {
        if (why.empty()) handlers_.on_broken();
        else handlers_.on_error(fail(fmt::format("standard output cannot be written: {}", why)).error());
      }),
      error_(loop, STDERR_FILENO, {}) {}

void OutputShow::more() {
  if (writing_ == 0) show_next();
}

// Pieces of both streams are written in their order: what is read at once leaves before the next is read.
void OutputShow::show_next() {
  do {
    shown_ = reader_.position();
    struct Piece {
      KeptStream stream;
      std::string bytes;
    };
    std::vector<Piece> pieces;
    auto add = [&](KeptStream stream, std::string_view bytes) { pieces.push_back({stream, std::string(bytes)}); };
    Result<bool> read = reader_.read_some(add);
    if (!read) return handlers_.on_error(read.error());
    if (!*read) return handlers_.on_shown();
    if (const std::uint64_t dropped = reader_.take_dropped(); dropped > 0) {
      const std::string line = fmt::format("holdfast: {} KiB of older output were dropped (--output-limit)\n", (dropped + 1023) >> 10);
      pieces.insert(pieces.begin(), {KeptStream::error, line});
    }
    writing_ = 1;
    for (Piece& piece : pieces) {
      ++writing_;
      (piece.stream == KeptStream::out ? out_ : error_).write(std::move(piece.bytes), {}, [this] {
        if (--writing_ == 0) show_next();
      });
    }
  } while (--writing_ == 0);
}

}  // namespace hf::daemon
