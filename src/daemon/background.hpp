// What the head of a job without a terminal has in its place: a name made for it, a directory in which its output is kept, and word to the
// command that started it.
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "daemon/clients/job_socket.hpp"
#include "daemon/clients/kept_job.hpp"
#include "daemon/clients/kept_output.hpp"
#include "daemon/output_writer.hpp"

namespace hf::daemon {

class Background {
 public:
  struct Descriptors {
    os::UniqueFd started;  // a byte is written there once all ranks have started
    os::UniqueFd stray;    // what agents and this process write to their own stdout and stderr is read from there; non-blocking
  };
  Background(JobSocket socket, KeptJob job, std::uint64_t output_limit_bytes, Descriptors descriptors);
  JobSocket take_socket() { return std::move(socket_); }
  const KeptJob& job() const { return job_; }
  std::unique_ptr<OutputSink> sink(KeptStream stream);
  // Goes on for a head that is gone: how far each stream of the ranks has been written.
  Result<std::vector<KeptMark>> resume() { return output_.resume(); }
  std::uint64_t position() const { return output_.position(); }
  void start(os::EventLoop& loop, std::function<void()> on_output);
  void on_started();
  void take_stray_output();  // that has not been read yet

 private:
  class Sink;
  void append(KeptStream stream, std::string_view bytes, const KeptMark& mark);
  bool read_stray();
  JobSocket socket_;
  KeptJob job_;
  KeptOutput output_;
  Descriptors descriptors_;
  std::function<void()> on_output_;
};

}  // namespace hf::daemon
