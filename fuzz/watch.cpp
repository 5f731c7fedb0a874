// What is said about watching a job: an agent's samples, a client's `watch` and the head's answer to it.
#include <nlohmann/json.hpp>

#include "daemon/watch/metrics.hpp"
#include "daemon/watch/top_view.hpp"
#include "daemon/watch/watch_answer.hpp"
#include "fuzz.hpp"

namespace hf::fuzz {
namespace {

daemon::JobWatch make_watch() {
  daemon::JobWatch watch({0, 0, 1});
  for (int rank = 0; rank < 3; ++rank) watch.on_event(rank / 2, {daemon::EventKind::started, rank, 0}, {});
  return watch;
}

Octets sampled(Random& random) {
  Octets out;
  ByteWriter body(out);
  body.put(daemon::SampleHead{static_cast<std::int64_t>(random() % 1'000'000'000)});
  for (int rank = 0; rank < 3; ++rank) body.put(daemon::RankSample{rank, 0, random() % 10, random() % 2 ? random() : 0});
  return out;
}

}  // namespace

Octets sample(Random& random) {
  if (random() % 3 == 0) return sampled(random);
  daemon::WatchRequest request{static_cast<int>(random() % 4), static_cast<int>(random() % 4), static_cast<daemon::RankOrder>(random() % 8)};
  std::string text = random() % 2 ? daemon::watch_request(request).dump() : daemon::answer_watch(make_watch(), request).dump();
  Bytes bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

void take(Bytes input) {
  daemon::JobWatch watch = make_watch();
  watch.on_sample(0, input);
  watch.on_sample(1, input);
  touch(bytes_of(daemon::metrics_text(watch, {"none", "process", 1, {true, false}, {daemon::NodeRole::ranks, daemon::NodeRole::spare}})));
  Result<daemon::Json> line = daemon::decode_line(text_of(input));
  if (!line) return;
  if (auto request = daemon::read_watch_request(*line)) touch(bytes_of(daemon::answer_watch(watch, *request).dump()));
  if (auto view = daemon::read_top(*line)) {
    for (const std::string& text : daemon::top_head(*view)) touch(bytes_of(text));
    for (const daemon::TopRow& row : view->rows) touch(bytes_of(daemon::top_line(row)));
  }
}

}  // namespace hf::fuzz
