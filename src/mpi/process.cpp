#include "mpi/process.hpp"

#include "mpi/request.hpp"

namespace hf::mpi {

Process::Process() {
  errors_are_fatal.kind = Errhandler::Kind::errors_are_fatal;
  errors_abort.kind = Errhandler::Kind::errors_abort;
  errors_return.kind = Errhandler::Kind::errors_return;
  for (Errhandler* handler : {&errors_are_fatal, &errors_abort, &errors_return}) handler->predefined = true;
  message_no_proc.predefined = true;
  file_errhandler = retain(&errors_return);
}

Process::~Process() = default;

int Process::explain(int code, std::string text) {
  explanation_ = std::move(text);
  return code;
}

std::string Process::take_explanation() { return std::exchange(explanation_, {}); }

void Process::blame(Comm* comm) {
  if (comm == blamed_) return;
  release(blamed_);
  blamed_ = retain(comm);
}

Comm* Process::take_blamed() { return std::exchange(blamed_, nullptr); }

void Process::bury(Request* request) {
  request->freed = true;
  buried_.push_back(request);
}

void Process::sweep_buried() {
  for (std::size_t i = 0; i < buried_.size();) {
    Request* request = buried_[i];
    if (!request->done()) {
      ++i;
      continue;
    }
    buried_[i] = buried_.back();
    buried_.pop_back();
    request->retire(*this);
    release(request);
  }
}

}  // namespace hf::mpi
