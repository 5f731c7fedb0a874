// No torn record: one publication of each shared structure is stepped under ptrace. After every instruction the reader
// looks, and at a sample of instructions the writer is really killed and the reader looks then: it must find nothing, or
// the whole record, and once it has found it, always. Built a second time with HOLDFAST_MUTATE_PUBLISH_EARLY, where the
// announcement comes before the contents, this program must fail.
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "rail/shm/ring.hpp"
#include "segment/log_reader.hpp"
#include "segment/log_writer.hpp"
#include "stepper.hpp"

namespace {

using namespace hf;
using hf::torn::Child;

enum class Seen { nothing, whole, torn };

// What all payloads are: no byte is 0, and no two stretches are alike.
const std::vector<std::byte> content = [] {
  std::vector<std::byte> out(2 * segment::chunk_bytes);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>((i * 167 + (i >> 8) * 13) | 1);
  return out;
}();

bool is_content(Bytes bytes, std::uint64_t from) {
  return from + bytes.size() <= content.size() && std::memcmp(bytes.data(), content.data() + from, bytes.size()) == 0;
}
void fill(std::uint64_t offset, MutableBytes out) { std::memcpy(out.data(), content.data() + offset, out.size()); }

constexpr int ranks = 2;
constexpr Rank writer_rank{0}, reader_rank{1};

// The shared memory of one case; made anew for each child.
struct Memory {
  Memory()
      : control_bytes(segment::control_bytes(ranks)),
        control_base(torn::shared_memory(control_bytes)),
        reader_base(torn::shared_memory(control_bytes)),
        log_base(torn::shared_memory(log_bytes)),
        control(control_base, ranks),
        reader(reader_base, ranks),
        log(control, [this] { return std::exchange(free_log, {}); }),
        free_log(log_base, log_bytes) {}
  ~Memory() {
    ::munmap(control_base, control_bytes);
    ::munmap(reader_base, control_bytes);
    ::munmap(log_base, log_bytes);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  static constexpr std::size_t log_bytes = 16 * segment::chunk_bytes;
  std::size_t control_bytes;
  std::byte *control_base, *reader_base, *log_base;
  segment::ControlView control, reader;
  segment::LogWriter log;
  MutableBytes free_log;
  rail::shm::RingWriter ring;
};

// One publication: what came before, the step that is watched, and what a reader finds.
struct Case {
  std::string_view name;
  void (*prepare)(Memory&);
  void (*publish)(Memory&);
  Seen (*look)(Memory&);
};

// ---- the ring

void send_frame(Memory& m, std::uint64_t sequence, std::uint64_t length) {
  wire::FrameHeader h;
  h.kind = wire::FrameKind::eager;
  h.sequence = sequence;
  h.tag = 4711;
  h.length = length;
  bool sent = m.ring.send(h, m.reader.inbound(writer_rank), Incarnation{0}, [](MutableBytes out) { fill(0, out); });
  if (!sent) ::_exit(3);
}

constexpr std::uint64_t lines_before = segment::ring_lines + 7, lines_to_end = 2 * segment::ring_lines - 3;

// The ring has gone round once: its lines hold older frames.
void prepare_ring(Memory& m, std::uint64_t lines) {
  m.ring.open(m.control, reader_rank, Incarnation{0}, 0);
  for (std::uint64_t i = 0; i < lines; ++i) {
    send_frame(m, 1000 + i, i % 17);
    std::uint64_t taken = std::uint64_t{1} << segment::taken_bits | (i + 1);
    segment::store_release(m.reader.inbound(writer_rank).taken, taken);
  }
}

Seen look_at_ring(Memory& m, std::uint64_t length, std::uint64_t lines) {
  rail::shm::RingReader in;
  std::uint64_t position = 0;
  // A reader that has taken all before: lines are numbered from 0.
  std::uint64_t first = std::exchange(m.control.opening(reader_rank).first_line, lines);
  bool attached = in.attach(m.control, reader_rank, Incarnation{0}, position);
  m.control.opening(reader_rank).first_line = first;
  if (!attached) return Seen::torn;
  rail::shm::RingFrame frame;
  if (!in.peek(frame)) return Seen::nothing;
  const auto& h = frame.header;
  if (h.kind != wire::FrameKind::eager || h.sequence != 1 || h.tag != 4711 || h.length != length) return Seen::torn;
  if (frame.payload.size() != length || !is_content(frame.payload, 0)) return Seen::torn;
  in.release();
  return in.ready() ? Seen::torn : Seen::whole;
}

constexpr std::uint64_t small = 16, several_lines = 1500;

// ---- the opening of a ring to a new incarnation of the reader

void prepare_opening(Memory& m) {
  prepare_ring(m, lines_before);
}
void publish_opening(Memory& m) {
  m.ring.open(m.control, reader_rank, Incarnation{5}, 123456);
}
Seen look_at_opening(Memory& m) {
  rail::shm::RingReader in;
  std::uint64_t position = 0;
  if (!in.attach(m.control, reader_rank, Incarnation{5}, position)) return Seen::nothing;
  return position == 123456 && m.control.opening(reader_rank).first_line == lines_before ? Seen::whole : Seen::torn;
}

// ---- the logs

constexpr int to_reader = reader_rank.value, events = ranks;

wire::FrameHeader logged_header(std::uint64_t sequence, std::uint64_t length) {
  wire::FrameHeader h;
  h.kind = wire::FrameKind::eager;
  h.flags = wire::flag_logged;
  h.sequence = sequence;
  h.length = length;
  return h;
}

void append_record(Memory& m, std::uint64_t sequence, std::uint64_t length) {
  if (!m.log.reserve(length)) ::_exit(3);
  m.log.append(to_reader, logged_header(sequence, length), fill);
  m.log.publish(to_reader);
}

void append_at_once(Memory& m, std::uint64_t sequence, std::uint64_t length) {
  wire::FrameHeader h = logged_header(sequence, length);
  if (!m.log.fits(to_reader, length)) ::_exit(3);
  m.log.append_at_once(to_reader, h, content.data());
  m.log.publish(to_reader);
}

void append_events(Memory& m, std::size_t n) {
  if (!m.log.reserve_raw(events, n)) ::_exit(3);
  m.log.append_raw(events, Bytes(content).first(n));
  m.log.publish(events);
}

constexpr std::uint64_t before_record = 700, log_record = 300;
// The first ends a little before the end of a chunk, so that the next stands in two.
constexpr std::uint64_t nearly_a_chunk = segment::chunk_area_bytes - 64 - 256;

Seen look_at_log(Memory& m, std::uint64_t before, std::uint64_t length) {
  segment::LogReader in(m.log, m.control.stream(to_reader), to_reader, ranks);
  segment::Record record;
  if (!in.next(record) || record.header.length != before) return Seen::torn;
  if (!in.next(record)) return in.damaged() ? Seen::torn : Seen::nothing;
  if (record.header.sequence != 1 || record.header.length != length) return Seen::torn;
  std::vector<Bytes> pieces;
  if (!in.pieces(record, 0, length, pieces)) return Seen::torn;
  std::uint64_t offset = 0;
  for (Bytes piece : pieces) {
    if (!is_content(piece, offset)) return Seen::torn;
    offset += piece.size();
  }
  segment::Record more;
  return !in.next(more) && !in.damaged() ? Seen::whole : Seen::torn;
}

constexpr std::size_t event_bytes = 48;
constexpr std::size_t events_before = segment::chunk_area_bytes - 16;

Seen look_at_events(Memory& m) {
  segment::LogReader in(m.log, m.control.stream(events), events, ranks);
  std::vector<std::byte> bytes(events_before), event(event_bytes);
  if (!in.read_raw(bytes) || !is_content(bytes, 0)) return Seen::torn;
  if (in.at_end()) return Seen::nothing;
  return in.read_raw(event) && is_content(event, 0) && in.at_end() ? Seen::whole : Seen::torn;
}

const Case cases[] = {
    {"ring frame of one line", [](Memory& m) { prepare_ring(m, lines_before); },
     [](Memory& m) { send_frame(m, 1, small); }, [](Memory& m) { return look_at_ring(m, small, lines_before); }},
    {"ring frame of several lines", [](Memory& m) { prepare_ring(m, lines_before); },
     [](Memory& m) { send_frame(m, 1, several_lines); },
     [](Memory& m) { return look_at_ring(m, several_lines, lines_before); }},
    {"ring frame behind skipped lines", [](Memory& m) { prepare_ring(m, lines_to_end); },
     [](Memory& m) { send_frame(m, 1, several_lines); },
     [](Memory& m) { return look_at_ring(m, several_lines, lines_to_end); }},
    {"opening of a ring", prepare_opening, publish_opening, look_at_opening},
    {"sender log record", [](Memory& m) { append_record(m, 0, before_record); },
     [](Memory& m) { append_record(m, 1, log_record); },
     [](Memory& m) { return look_at_log(m, before_record, log_record); }},
    {"sender log record at once", [](Memory& m) { append_record(m, 0, before_record); },
     [](Memory& m) { append_at_once(m, 1, log_record); },
     [](Memory& m) { return look_at_log(m, before_record, log_record); }},
    {"sender log record in two chunks", [](Memory& m) { append_record(m, 0, nearly_a_chunk); },
     [](Memory& m) { append_record(m, 1, log_record); },
     [](Memory& m) { return look_at_log(m, nearly_a_chunk, log_record); }},
    {"event log record in two chunks", [](Memory& m) { append_events(m, events_before); },
     [](Memory& m) { append_events(m, event_bytes); }, look_at_events},
};

struct Outcome {
  std::uint64_t instructions = 0, first_whole = 0;
  bool good = true;
};

void complain(Outcome& outcome, const Case& c, std::uint64_t step, const char* what) {
  if (outcome.good) std::printf("%.*s: after instruction %lu: %s\n", static_cast<int>(c.name.size()), c.name.data(), step, what);
  outcome.good = false;
}

// Every instruction once, the child stopped.
Outcome step_through(const Case& c) {
  Outcome outcome;
  Memory memory;
  c.prepare(memory);
  if (c.look(memory) != Seen::nothing) complain(outcome, c, 0, "seen before it was written");
  Child child([&] { c.publish(memory); });
  if (child.forbidden()) std::exit(77);
  bool whole = false;
  while (child.step()) {
    ++outcome.instructions;
    Seen seen = c.look(memory);
    if (seen == Seen::torn) complain(outcome, c, outcome.instructions, "a torn record");
    if (whole && seen == Seen::nothing) complain(outcome, c, outcome.instructions, "seen, and gone again");
    if (!whole && seen == Seen::whole) outcome.first_whole = outcome.instructions;
    whole |= seen == Seen::whole;
  }
  if (child.failed()) complain(outcome, c, outcome.instructions, "the writer failed");
  if (!whole) complain(outcome, c, outcome.instructions, "never seen");
  return outcome;
}

// SIGKILL after so many instructions; the reader looks at what the dead left.
void kill_at(const Case& c, std::uint64_t step, Outcome& outcome) {
  Memory memory;
  c.prepare(memory);
  Child child([&] { c.publish(memory); });
  for (std::uint64_t i = 0; i < step && child.step(); ++i) {
  }
  if (!child.ended()) child.kill();
  if (c.look(memory) == Seen::torn) complain(outcome, c, step, "killed: a torn record");
}

bool run(const Case& c) {
  Outcome outcome = step_through(c);
  // Kills around the publication itself, and spread over all that comes before.
  for (std::uint64_t i = 0; i < 12; ++i) kill_at(c, outcome.first_whole + i - 6, outcome);
  for (std::uint64_t i = 0; i < 12; ++i) kill_at(c, outcome.instructions * i / 12, outcome);
  std::printf("%-34.*s %6lu instructions, whole after %6lu, 24 kills: %s\n", static_cast<int>(c.name.size()), c.name.data(),
              outcome.instructions, outcome.first_whole, outcome.good ? "good" : "TORN");
  return outcome.good;
}

}  // namespace

int main() {
  bool good = true;
  for (const Case& c : cases) good = run(c) && good;
  return good ? 0 : 1;
}
