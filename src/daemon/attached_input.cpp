#include "daemon/attached_input.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace hf::daemon {
namespace {

const char* const over = "standard input of rank 0 has ended";

}  // namespace

void AttachedInput::open() {
  if (ended_ || std::exchange(open_, true)) return;
  if (!early_.empty()) give_(bytes_of(std::exchange(early_, {})));
  if (early_end_) end();
  answer_waiting();
}

Json AttachedInput::on_request(ClientId client, const Json& request) {
  if (ended_ || early_end_) return error_line(over);
  const bool ends = flag_member(request, "end");
  auto data = from_base64(text_member(request, "data").value_or(""));
  if (!data || data->empty() != ends) return error_line("the request has neither \"data\" nor \"end\", or both");
  ahead_ += data->size();
  if (!open_) {
    early_ += *data;
    early_end_ = ends;
  } else if (ends) {
    end();
  } else {
    give_(bytes_of(*data));
  }
  if (open_ && ahead_ < window_bytes) return {{"taken", true}};
  waiting_.push_back(client);
  return {};
}

void AttachedInput::on_taken(std::uint64_t bytes) {
  ahead_ -= std::min(bytes, ahead_);
  answer_waiting();
}

void AttachedInput::answer_waiting() {
  if (!open_ || ahead_ >= window_bytes) return;
  for (ClientId client : std::exchange(waiting_, {})) door_.answer(client, {{"taken", true}});
}

void AttachedInput::end() {
  ended_ = true;
  give_({});
}

void AttachedInput::close() {
  ended_ = true;
  for (ClientId client : std::exchange(waiting_, {})) door_.answer(client, error_line(over));
}

}  // namespace hf::daemon
