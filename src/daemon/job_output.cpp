#include "daemon/job_output.hpp"

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "os/clock.hpp"

namespace hf::daemon {

JobOutput::JobOutput(os::EventLoop& loop, int rank_count, bool label, std::function<void(int, std::uint64_t)> on_taken,
                     std::unique_ptr<OutputSink> out, std::unique_ptr<OutputSink> error)
    : loop_(loop),
      label_(label),
      on_taken_(std::move(on_taken)),
      out_(std::move(out)),
      error_(std::move(error)),
      streams_(static_cast<std::size_t>(rank_count) * 2) {}

void JobOutput::on_bytes(int rank, OutputStream kind, Bytes bytes) {
  Stream& s = stream(rank, kind);
  s.held += bytes.size();
  std::string out;
  s.gate.on_bytes(text_of(bytes), out);
  pass_on(rank, kind, std::move(out));
  after(rank, kind);
}

void JobOutput::after(int rank, OutputStream kind) {
  Stream& s = stream(rank, kind);
  if (auto line = s.gate.take_difference()) {
    say(fmt::format("rank {}: after its restart, line {} of its {} differs from what had been passed on", rank, *line,
                    kind == OutputStream::out ? "standard output" : "standard error"));
  }
  if (!s.gate.has_open_line()) return loop_.cancel(s.timer);
  const std::uint64_t line = s.gate.passed().lines;
  if (s.timer != 0 && s.timed_line == line) return;
  loop_.cancel(s.timer);
  s.timed_line = line;
  s.timer = loop_.at(os::later(os::now(), open_line_ms * os::millisecond_ns), [this, rank, kind] { on_open_line(rank, kind); });
}

void JobOutput::on_open_line(int rank, OutputStream kind) {
  Stream& s = stream(rank, kind);
  s.timer = 0;
  if (rank != 0) others_open_ = true;
  if (!passes_open_line(rank, kind)) return;
  std::string out;
  s.gate.pass_open_line(out);
  pass_on(rank, kind, std::move(out));
  prompt_[index(kind)] |= stands(mark_of(rank, kind));
}

KeptMark JobOutput::mark_of(int rank, OutputStream kind) {
  const OutputGate::Position passed = stream(rank, kind).gate.passed();
  return {rank, kind == OutputStream::error, passed.lines, passed.open_bytes};
}

bool JobOutput::passes_open_line(int rank, OutputStream kind) const {
  return terminal_[index(kind)] || rank_count() == 1 || (rank == 0 && answered_ && !others_open_);
}

void JobOutput::set_terminal(OutputStream kind, bool is) {
  if (std::exchange(terminal_[index(kind)], is) == is || !is) return;
  end_prompt(kind);
  for (int rank = 0; rank < rank_count(); ++rank) after(rank, kind);
}

void JobOutput::set_answered(bool may_be) {
  if (std::exchange(answered_, may_be) == may_be || !may_be) return;
  for (OutputStream kind : {OutputStream::out, OutputStream::error}) after(0, kind);
}

// What others write waits for the end of that line.
bool JobOutput::stands(const KeptMark& mark) const {
  return mark.rank == 0 && mark.open_bytes > 0 && rank_count() > 1 && !terminal_[mark.of_error];
}

void JobOutput::end_prompt(OutputStream kind) {
  prompt_[index(kind)] = false;
  loop_.cancel(waited_[index(kind)]);
  for (Piece& piece : std::exchange(waiting_[index(kind)], {})) write(kind, std::move(piece));
}

// Bytes that were skipped, or wait in the gate (at most OutputGate::open_bytes_max), count as taken at once.
void JobOutput::pass_on(int rank, OutputStream kind, std::string bytes) {
  Stream& s = stream(rank, kind);
  std::uint64_t taken = std::exchange(s.held, 0);
  if (bytes.empty()) {
    if (taken > 0) on_taken_(rank, taken);
    return;
  }
  Piece piece{rank, std::move(bytes), mark_of(rank, kind), taken};
  if (rank != 0 && prompt_[index(kind)]) {
    waiting_[index(kind)].push_back(std::move(piece));
    os::EventLoop::TimerId& waited = waited_[index(kind)];
    if (waited == 0) waited = loop_.at(os::later(os::now(), prompt_ms * os::millisecond_ns), [this, kind] { end_prompt(kind); });
    return;
  }
  const bool ends_prompt = rank == 0 && !stands(piece.mark);
  write(kind, std::move(piece));
  if (ends_prompt) end_prompt(kind);
}

void JobOutput::write(OutputStream kind, Piece piece) {
  if (label_) piece.bytes = labelled(piece.rank, kind, piece.bytes);
  OutputSink& sink = kind == OutputStream::out ? *out_ : *error_;
  sink.write(std::move(piece.bytes), piece.mark, [this, rank = piece.rank, taken = piece.taken] {
    if (taken > 0) on_taken_(rank, taken);
  });
}

std::string JobOutput::labelled(int rank, OutputStream kind, std::string_view bytes) {
  Stream& s = stream(rank, kind);
  int& owner = open_owner_[static_cast<int>(kind)];
  std::string out;
  if (owner >= 0 && owner != rank) {  // another rank's unfinished line stands there
    out += '\n';
    stream(owner, kind).line_begins = true;
  }
  while (!bytes.empty()) {
    if (s.line_begins) out += fmt::format("[{}] ", rank);
    std::string_view line = bytes.substr(0, bytes.find('\n'));
    s.line_begins = line.size() < bytes.size();
    bytes.remove_prefix(line.size() + (s.line_begins ? 1 : 0));
    out += line;
    if (s.line_begins) out += '\n';
  }
  owner = s.line_begins ? -1 : rank;
  return out;
}

void JobOutput::on_started(int rank) {
  for (OutputStream kind : {OutputStream::out, OutputStream::error}) {
    Stream& s = stream(rank, kind);
    s.unheard = false;
    s.gate.on_restart();
    pass_on(rank, kind, {});
    loop_.cancel(s.timer);
  }
}

void JobOutput::resume(const KeptMark& mark) {
  if (mark.rank < 0 || static_cast<std::size_t>(mark.rank) * 2 >= streams_.size()) return;
  const OutputStream kind = mark.of_error != 0 ? OutputStream::error : OutputStream::out;
  Stream& s = stream(mark.rank, kind);
  s.gate.resume({mark.lines, mark.open_bytes}, {});
  s.unheard = true;
  // As it was written last: the unfinished line of another rank was ended before.
  int& owner = open_owner_[static_cast<int>(kind)];
  if (owner >= 0) stream(owner, kind).line_begins = true;
  s.line_begins = mark.open_bytes == 0;
  if (mark.rank == 0) prompt_[index(kind)] = stands(mark);
  owner = s.line_begins ? -1 : mark.rank;
}

void JobOutput::resume_at(int rank, OutputStream kind, const OutputGate::Position& next) {
  Stream& s = stream(rank, kind);
  s.unheard = false;
  if (s.gate.resume(s.gate.passed(), next)) return;
  say(fmt::format("rank {}: some of its {} was lost with the head", rank, kind == OutputStream::out ? "standard output" : "standard error"));
}

void JobOutput::on_over(int rank, bool done) {
  for (OutputStream kind : {OutputStream::out, OutputStream::error}) {
    if (Stream& s = stream(rank, kind); !s.unheard) {
      std::string out;
      s.gate.on_end(done, out);
      pass_on(rank, kind, std::move(out));
      after(rank, kind);
      say_instead(rank, kind, done);
    }
    if (rank == 0) end_prompt(kind);
  }
}

// A rank that ended in its replay may have said why, in place of what was passed on before.
void JobOutput::say_instead(int rank, OutputStream kind, bool done) {
  const std::string text = stream(rank, kind).gate.take_instead();
  if (done || text.empty()) return;
  say(fmt::format("rank {} wrote instead:", rank));
  write_error(text);
}

void JobOutput::say(const std::string& line) {
  error_->write(fmt::format("holdfast: {}\n", line), {}, {});
}

void JobOutput::write_error(std::string text) {
  error_->write(std::move(text), {}, {});
}

void JobOutput::discard() {
  out_->discard();
  error_->discard();
  for (OutputStream kind : {OutputStream::out, OutputStream::error}) end_prompt(kind);
}

}  // namespace hf::daemon
