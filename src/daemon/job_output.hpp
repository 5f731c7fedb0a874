// Where all ranks' output leaves the job: exactly once, line by line, to the head's stdout and stderr, or what stands for them.
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
  void on_over(int rank);              // the rank will write no more
  void say(const std::string& line);   // "holdfast: line" on stderr
  void write_error(std::string text);  // on stderr as it is
  bool empty() const { return out_->empty() && error_->empty(); }
  void discard();

 private:
  static constexpr std::int64_t open_line_ms = 100;
  struct Stream {
    OutputGate gate;
    os::EventLoop::TimerId timer = 0;
    std::uint64_t held = 0;   // bytes in the gate, not yet reported as taken
    bool line_begins = true;  // for labels
    bool unheard = false;     // of a lost head: nothing of its rank has come since
  };
  Stream& stream(int rank, OutputStream kind) {
    return streams_[static_cast<std::size_t>(rank) * 2 + static_cast<std::size_t>(kind)];
  }
  void pass_on(int rank, OutputStream kind, std::string bytes);
  void after(int rank, OutputStream kind);
  std::string labelled(int rank, OutputStream kind, std::string_view bytes);

  os::EventLoop& loop_;
  bool label_;
  std::function<void(int, std::uint64_t)> on_taken_;
  std::unique_ptr<OutputSink> out_, error_;
  std::vector<Stream> streams_;
  int open_owner_[2] = {-1, -1};  // with labels: whose unfinished line was written last, stdout and stderr
};

}  // namespace hf::daemon
