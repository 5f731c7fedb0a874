// The named points of the code at which --inject kills a rank (docs/recovery.md) or the head of a job (docs/head-loss.md). Pure.
#pragma once
#include <algorithm>
#include <iterator>
#include <string_view>

namespace hf::wire {

inline constexpr std::string_view rank_points[] = {
    "acknowledge.published", "match.logged",        "match.made",           "rendezvous.announced", "rendezvous.arriving",
    "rendezvous.asked",      "rendezvous.exposed",  "rendezvous.following", "rendezvous.helping",   "rendezvous.matched",
    "rendezvous.piece",      "rendezvous.received", "rendezvous.requested", "rendezvous.seen",      "send.ahead",
    "send.ahead.carrying",   "send.logged",         "send.offered",         "send.published"};

inline constexpr std::string_view head_points[] = {"cut.kept", "cut.told", "orphan.heard", "rollback.kept", "rollback.told"};

template <const auto& points>
constexpr bool is_point(std::string_view name) {
  return std::ranges::find(points, name) != std::end(points);
}

// What is passed: a name that stands in no table does not compile.
template <const auto& points>
struct Point {
  consteval Point(const char* name) : text(name) {
    if (!is_point<points>(name)) throw "this name is not in the table";
  }
  const char* text;
};
using RankPoint = Point<rank_points>;
using HeadPoint = Point<head_points>;

}  // namespace hf::wire
