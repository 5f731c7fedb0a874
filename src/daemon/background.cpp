#include "daemon/background.hpp"

#include <unistd.h>

#include <array>

namespace hf::daemon {

// A file takes all, at once.
class Background::Sink final : public OutputSink {
 public:
  Sink(Background& owner, KeptStream stream) : owner_(owner), stream_(stream) {}
  void write(std::string bytes, const KeptMark& mark, std::function<void()> on_written) override {
    owner_.append(stream_, bytes, mark);
    if (on_written) on_written();
  }
  bool empty() const override { return true; }
  void discard() override {}

 private:
  Background& owner_;
  KeptStream stream_;
};

Background::Background(JobSocket socket, KeptJob job, std::uint64_t output_limit_bytes, Descriptors descriptors)
    : socket_(std::move(socket)),
      job_(std::move(job)),
      output_(job_.directory(), output_limit_bytes),
      descriptors_(std::move(descriptors)) {}

std::unique_ptr<OutputSink> Background::sink(KeptStream stream) {
  return std::make_unique<Sink>(*this, stream);
}

void Background::append(KeptStream stream, std::string_view bytes, const KeptMark& mark) {
  output_.append(stream, bytes, mark);
  if (on_output_) on_output_();
}

void Background::start(os::EventLoop& loop, std::function<void()> on_output) {
  on_output_ = std::move(on_output);
  loop.add(descriptors_.stray.get(), EPOLLIN, [this](std::uint32_t) { read_stray(); });
}

bool Background::read_stray() {
  std::array<char, 16 * 1024> piece;
  const ssize_t n = ::read(descriptors_.stray.get(), piece.data(), piece.size());
  if (n > 0) append(KeptStream::error, {piece.data(), static_cast<std::size_t>(n)}, {});
  return n > 0;
}

void Background::take_stray_output() {
  while (read_stray()) continue;
}

void Background::on_started() {
  if (!descriptors_.started) return;
  // Whoever waits for it may be gone: the job goes on.
  static_cast<void>(::write(descriptors_.started.get(), "s", 1));
  descriptors_.started.reset();
}

}  // namespace hf::daemon
