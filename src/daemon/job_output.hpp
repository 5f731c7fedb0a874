// Where all ranks' output leaves the job: exactly once, line by line, to the head's stdout and stderr, or what stands for them.
//
// An unfinished line waits for its end, up to 64 KiB of it: programs flush full buffers anywhere, and what another rank writes would stand in its
// middle. Passed on when it has stood for a moment it is only where somebody may be looking at it: at a terminal; of a job of one rank, where
// nothing is mixed; and of rank 0, which has the job's input, while that may still be given and as long as no other rank has let an unfinished
// line stand: a prompt. What others write waits a little for the end of such a line.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "daemon/control_messages.hpp"
#include "daemon/output_gate.hpp"
#include "daemon/output_writer.hpp"

namespace hf::daemon {

class JobOutput {
 public:
  // `on_taken(rank, bytes)`: that many of the bytes given to on_bytes have left the job.
  JobOutput(os::EventLoop& loop, int rank_count, bool label, std::function<void(int, std::uint64_t)> on_taken,
            std::unique_ptr<OutputSink> out, std::unique_ptr<OutputSink> error);

  void on_bytes(int rank, OutputStream stream, Bytes bytes);
  void on_started(int rank);           // a new incarnation
  // Goes on for a head that is gone: so much had been passed on of a stream, and the present incarnation writes from `next` on. The mark of the
  // stream that was written last comes last.
  void resume(const KeptMark& mark);
  void resume_at(int rank, OutputStream stream, const OutputGate::Position& next);
  void on_over(int rank, bool done);   // the rank will write no more. `done`: it has ended by itself, with exit code 0
  void set_terminal(OutputStream stream, bool is);  // false at first
  void set_answered(bool may_be);  // the job's input may still bring something. True at first
  void say(const std::string& line);   // "holdfast: line" on stderr
  void write_error(std::string text);  // on stderr as it is
  bool empty() const { return out_->empty() && error_->empty() && waiting_[0].empty() && waiting_[1].empty(); }
  void discard();

 private:
  static constexpr std::int64_t open_line_ms = 100, prompt_ms = 1000;
  struct Stream {
    OutputGate gate;
    os::EventLoop::TimerId timer = 0;
    std::uint64_t timed_line = 0;  // number of the unfinished line that the timer is for
    std::uint64_t held = 0;   // bytes in the gate, not yet reported as taken
    bool line_begins = true;  // for labels
    bool unheard = false;     // of a lost head: nothing of its rank has come since
  };
  struct Piece {
    int rank = 0;
    std::string bytes;
    KeptMark mark;
    std::uint64_t taken = 0;
  };
  static std::size_t index(OutputStream kind) { return static_cast<std::size_t>(kind); }
  Stream& stream(int rank, OutputStream kind) {
    return streams_[static_cast<std::size_t>(rank) * 2 + static_cast<std::size_t>(kind)];
  }
  void pass_on(int rank, OutputStream kind, std::string bytes);
  void say_instead(int rank, OutputStream kind, bool done);
  void after(int rank, OutputStream kind);
  void on_open_line(int rank, OutputStream kind);
  bool passes_open_line(int rank, OutputStream kind) const;
  KeptMark mark_of(int rank, OutputStream kind);
  bool stands(const KeptMark& mark) const;
  void write(OutputStream kind, Piece piece);
  void end_prompt(OutputStream kind);
  int rank_count() const { return static_cast<int>(streams_.size() / 2); }
  std::string labelled(int rank, OutputStream kind, std::string_view bytes);

  os::EventLoop& loop_;
  bool label_;
  std::function<void(int, std::uint64_t)> on_taken_;
  std::unique_ptr<OutputSink> out_, error_;
  std::vector<Stream> streams_;
  bool terminal_[2] = {}, answered_ = true;
  bool others_open_ = false;         // a rank other than 0 has let an unfinished line stand
  bool prompt_[2] = {};              // rank 0's unfinished line was passed on, and others wait for its end
  std::vector<Piece> waiting_[2];    // what they have written since
  os::EventLoop::TimerId waited_[2] = {};
  int open_owner_[2] = {-1, -1};  // with labels: whose unfinished line was written last, stdout and stderr
};

}  // namespace hf::daemon
