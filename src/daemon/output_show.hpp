// Shows kept output on this process's stdout and stderr, as fast as they are read, without waiting for either.
#pragma once
#include <functional>

#include "daemon/clients/kept_job.hpp"
#include "daemon/clients/kept_output.hpp"
#include "daemon/output_writer.hpp"

namespace hf::daemon {

class OutputShow {
 public:
  struct Handlers {
    std::function<void()> on_shown;   // all that there was; once or more for each more()
    std::function<void()> on_broken;  // nobody reads stdout any more
    std::function<void(const Error&)> on_error;
  };
  OutputShow(os::EventLoop& loop, const KeptJob& job, std::uint64_t position, Handlers handlers);
  void more();  // there may be more of it
  std::uint64_t position() const { return shown_; }  // up to which it was shown

 private:
  void show_next();
  Handlers handlers_;
  KeptReader reader_;
  std::uint64_t shown_;
  OutputWriter out_, error_;
  int writing_ = 0;  // pieces on their way: what follows them is looked for when they have left
};

}  // namespace hf::daemon
