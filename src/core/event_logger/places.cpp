#include "core/event_logger/places.hpp"

#include <algorithm>
#include <utility>

namespace hf::core::event_logger {
namespace {

void add_once(std::vector<int>& agents, int agent) {
  if (std::ranges::find(agents, agent) == agents.end()) agents.push_back(agent);
}

}  // namespace

std::set<int> Holding::holders() const {
  std::set<int> out;
  for (const Copy& copy : copies) {
    if (copy.holder >= 0) out.insert(copy.holder);
  }
  return out;
}

bool Holding::all_held() const {
  return std::ranges::all_of(copies, [](const Copy& copy) { return copy.holder < 0 || copy.held; });
}

std::vector<int> Places::all() const {
  std::vector<int> out = settled_;
  for (int agent : begun_) add_once(out, agent);
  return out;
}

Told Places::told(const Holding* settled) const {
  Told out{facts_.first, facts_.next, facts_.place_lost, {}};
  if (!settled) return out;
  for (const Holding::Copy& copy : settled->copies) {
    if (copy.holder >= 0) out.present.insert(copy.generation);
  }
  return out;
}

void Places::move(Term term) {
#ifdef HOLDFAST_MUTATE_FORGET_SETTLED
  facts_.next = term;
#endif
  if (std::exchange(facts_.settled, false)) facts_.next = term;
  facts_.begun = term;
}

void Places::add(int holder) { add_once(is_settled() ? settled_ : begun_, holder); }

void Places::only(const std::set<int>& holders) {
  if (!is_settled()) return;
  settled_.assign(holders.begin(), holders.end());
  facts_.place_lost |= holders.empty();
}

void Places::lose(int agent) {
  std::erase(begun_, agent);
  facts_.place_lost |= std::erase(settled_, agent) > 0;
}

std::vector<int> Places::settle(int agent, const std::set<int>& holders) {
  if (!std::exchange(facts_.settled, true)) facts_.first = facts_.begun;
  facts_.agent = agent;
  facts_.place_lost = holders.empty();
  std::vector<int> out = all();
  std::erase_if(out, [&](int place) { return holders.contains(place); });
  settled_.assign(holders.begin(), holders.end());
  begun_.clear();
  return out;
}

}  // namespace hf::core::event_logger
