#include "daemon/watch/saved_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace hf::daemon {
namespace {

using Json = nlohmann::json;

// Takes members out of an object; remembers what is wrong with the first that is missing or of another type.
class Taker {
 public:
  Taker(const Json& object, std::string& wrong) : object_(object), wrong_(wrong) {}
  const Json* member(const char* name, bool needed) {
    auto found = object_.find(name);
    if (found != object_.end()) return &*found;
    if (needed) refuse(name);
    return nullptr;
  }
  template <class T>
  void take(const char* name, T& out, bool needed = false) {
    const Json* value = member(name, needed);
    if (value && !read(*value, out)) refuse(name);
  }
  template <class T, class Read>
  void take_each(const char* name, std::vector<T>& out, Read&& read_one) {
    const Json* list = member(name, false);
    if (!list) return;
    if (!list->is_array()) return refuse(name);
    for (const Json& one : *list) {
      if (!one.is_object()) return refuse(name, "holds an entry that is no object");
      Taker in(one, wrong_);
      read_one(in, out.emplace_back());
      if (!wrong_.empty()) return;
    }
  }
  void refuse(const char* name, const char* what = "is missing or wrong") {
    if (wrong_.empty()) wrong_ = fmt::format("its \"{}\" {}", name, what);
  }

 private:
  template <class T>
  static bool read(const Json& value, T& out) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!value.is_boolean()) return false;
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!value.is_string()) return false;
    } else if constexpr (std::is_same_v<T, double>) {
      if (!value.is_number() || !std::isfinite(value.get<double>())) return false;
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (!value.is_number_unsigned()) return false;
    } else {
      static_assert(std::is_same_v<T, std::int64_t>);
      if (!value.is_number_integer()) return false;
    }
    out = value.get<T>();
    return true;
  }
  template <class T>
  static bool read(const Json& value, std::optional<T>& out) {
    if (value.is_null()) return true;
    return read(value, out.emplace());
  }
  static bool read(const Json& value, std::vector<std::uint64_t>& out) {
    if (!value.is_array()) return false;
    for (const Json& one : value) {
      if (!read(one, out.emplace_back())) return false;
    }
    return true;
  }
  const Json& object_;
  std::string& wrong_;
};

void take_totals(Taker& in, SavedReport::Totals& out) {
  in.take("messages_sent", out.messages_sent);
  in.take("bytes_sent", out.bytes_sent);
  in.take("messages_logged", out.messages_logged);
  in.take("bytes_logged", out.bytes_logged);
  in.take("messages_received", out.messages_received);
  in.take("bytes_received", out.bytes_received);
  in.take("messages_replayed", out.messages_replayed);
  in.take("determinants", out.determinants);
}

void take_program(Taker& in, SavedReport::Program& out) {
  in.take("command", out.command, true);
  in.take("ranks", out.ranks, true);
}

void take_failure(Taker& in, SavedReport::Failure& out) {
  in.take("rank", out.rank, true);
  in.take("incarnation", out.incarnation);
  in.take("time_s", out.time_s, true);
  in.take("signal", out.signal);
  in.take("call", out.call);
  in.take("detected_after_s", out.detected_after_s);
  in.take("restarted_after_s", out.restarted_after_s);
  in.take("first_call_after_s", out.first_call_after_s);
  in.take("caught_up_after_s", out.caught_up_after_s);
  in.take("messages_replayed", out.messages_replayed);
}

void take_lost_node(Taker& in, SavedReport::LostNode& out) {
  in.take("event_logger", out.event_logger);
  in.take("node", out.node, true);
  in.take("time_s", out.time_s, true);
  in.take("why", out.why);
  in.take("ranks", out.ranks);
  in.take("moved_to", out.moved_to);
}

void take_rank(Taker& in, SavedReport::RankLine& out) {
  in.take("rank", out.rank, true);
  in.take("node", out.node, true);
  in.take("host", out.host);
  in.take("restarts", out.restarts);
  in.take("unprotected", out.unprotected);
  take_totals(in, out.totals);
}

void take_note(Taker& in, SavedReport::Note& out) {
  in.take("time_s", out.time_s, true);
  in.take("rank", out.rank);
  in.take("text", out.text, true);
}

}  // namespace

Result<SavedReport> read_report(std::string_view json) {
  const Json root = Json::parse(json, nullptr, false);
  if (root.is_discarded()) return fail("it is no JSON");
  if (!root.is_object() || !root.contains("holdfast")) return fail("it has no \"holdfast\"");
  SavedReport out;
  std::string wrong;
  Taker in(root, wrong);
  in.take("holdfast", out.version, true);
  in.take("protocol", out.protocol);
  in.take("log_level", out.log_level);
  in.take("started_s", out.started_s);
  in.take("rank_count", out.rank_count, true);
  in.take("node_count", out.node_count, true);
  in.take("spare_count", out.spare_count);
  in.take("event_logger_count", out.event_logger_count);
  in.take("exit_code", out.exit_code, true);
  in.take("duration_s", out.duration_s, true);
  in.take("kills", out.kills);
  in.take("restarts", out.restarts);
  in.take("lost_heads", out.lost_heads);
  in.take_each("programs", out.programs, take_program);
  in.take_each("failures", out.failures, take_failure);
  in.take_each("lost_nodes", out.lost_nodes, take_lost_node);
  in.take_each("ranks", out.ranks, take_rank);
  in.take_each("notes", out.notes, take_note);
  if (const Json* totals = in.member("totals", false)) {
    if (!totals->is_object()) in.refuse("totals");
    Taker sums(*totals, wrong);
    take_totals(sums, out.totals);
  }
  if (!wrong.empty()) return fail(wrong);
  return out;
}

}  // namespace hf::daemon
