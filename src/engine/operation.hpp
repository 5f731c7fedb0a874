// The operations that mpi/ starts and the engine completes. The caller owns them, keeps them in place until `done()`,
// and destroys them only then. Buffers must stay valid as long as the operation.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "core/match/matcher.hpp"
#include "segment/exposure.hpp"

namespace hf::engine {

// Bytes to send: contiguous when data != nullptr (or bytes == 0); else `pack` yields any byte range of the packed form.
struct Source {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  void (*pack)(const void* self, std::size_t offset, MutableBytes out) = nullptr;
  const void* self = nullptr;
};

// Where received bytes go: contiguous when data != nullptr (or capacity == 0); else `unpack` takes any byte range.
struct Sink {
  std::byte* data = nullptr;
  std::size_t capacity = 0;
  void (*unpack)(void* self, std::size_t offset, Bytes in) = nullptr;
  void* self = nullptr;
};

enum class SendMode : std::uint8_t { standard, synchronous };  // ready is standard; buffered copies first, in mpi/

struct SendOperation {
  bool complete = false;  // the buffer may be used again (synchronous: and the receive has been matched)
  bool cancelled = false;
  Rank destination{};
  Context context{};
  Sequence sequence{};
  MessageTag tag{};
  SendMode mode = SendMode::standard;
  bool numbered = false;
  bool keeps_buffer = false;    // in: the buffer stays until Engine::withdraw, also after the operation is complete
  Source source{};
  segment::Exposure exposure;
  bool done() const { return complete; }
};

// Posted::source and ::tag: in: wanted (any_rank: any member of the context); out, once matched: the message's.
struct RecvOperation : core::match::Posted {
  bool complete = false;
  bool cancelled = false;
  bool matched = false;
  bool truncated = false;          // the message was longer than the sink; the sink is full
  bool numbered = false;
  bool forced = false;             // replay: the source is that of a matching determinant
  std::size_t bytes = 0;           // out: the message's length
  Context context{};
  Sequence sequence{};             // numbered receives: the number wanted
  RequestNumber number{};          // fixed when posted
  Sink sink{};
  bool done() const { return complete; }
};

// A message taken out of matching by a matched probe; received with Engine::recv_matched.
struct MatchedMessage {
  Rank source{};
  MessageTag tag{};
  std::size_t bytes = 0;
  Context context{};
  void* message = nullptr;  // the engine's
};

struct ProbeResult {
  Rank source{};
  MessageTag tag{};
  std::size_t bytes = 0;
};

// Something that progresses whenever the engine does, such as the schedule of a collective.
class Progressable {
 public:
  virtual ~Progressable() = default;
  // Returns true when it needs no more calls; the engine then forgets it. May start and complete operations.
  virtual bool progress() = 0;
};

}  // namespace hf::engine
