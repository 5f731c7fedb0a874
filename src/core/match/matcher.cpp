#include "core/match/matcher.hpp"

namespace hf::core::match {

// A held receive stands before `message` in posted order and could take it. Everything posted now comes after all that
// is queued, so that every held receive counts.
bool Matcher::blocked(const Arrived& message) const {
  if (held_ == 0) return false;
  for (Posted* p = posted_.first(); p; p = posted_.after(*p)) {
    if (p->mode == Mode::held && accepts(*p, message)) return true;
  }
  return false;
}

Arrived* Matcher::earliest(const Posted& receive) {
  for (Arrived* m = unexpected_.first(); m; m = unexpected_.after(*m)) {
    if (accepts(receive, *m)) return m;
  }
  return nullptr;
}

Arrived* Matcher::peek(Rank source, MessageTag tag) {
  Posted wanted;
  wanted.source = source;
  wanted.tag = tag;
  Arrived* m = earliest(wanted);
  return m && !blocked(*m) ? m : nullptr;  // a later one would overtake it
}

Arrived* Matcher::post(Posted& receive) {
  if (receive.mode == Mode::free) {
    Arrived* m = earliest(receive);
    if (m && !blocked(*m)) {
      unexpected_.remove(*m);
      return m;
    }
    if (m) receive.mode = Mode::held;  // that message is its own unless a held receive takes it
  }
  posted_.push_back(receive);
  if (receive.mode == Mode::held) ++held_;
  return nullptr;
}

Posted* Matcher::first_for(Rank source, MessageTag tag) {
  Posted* p = posted_.first();
  while (p && (p->mode == Mode::inert || !accepts(*p, source, tag))) p = posted_.after(*p);
  return p;
}

Posted* Matcher::take_posted(Rank source, MessageTag tag) {
  Posted* first = first_for(source, tag);
  if (!first) return nullptr;
  if (first->mode == Mode::held) {  // the message waits behind it
    hold_after(*first, source, tag);
    return nullptr;
  }
  posted_.remove(*first);
  return first;
}

Posted* Matcher::taker(Rank source, MessageTag tag) {
  Posted* first = first_for(source, tag);
  return first && first->mode == Mode::free ? first : nullptr;
}

// Receives behind a held one that could take the message too take none before: a later one would overtake it.
void Matcher::hold_after(Posted& first, Rank source, MessageTag tag) {
  for (Posted* p = posted_.after(first); p; p = posted_.after(*p)) {
    if (p->mode != Mode::free || !accepts(*p, source, tag)) continue;
    p->mode = Mode::held;
    ++held_;
  }
}

void Matcher::remove_posted(Posted& receive) {
  if (receive.mode == Mode::held) --held_;
  posted_.remove(receive);
}

void Matcher::release_held() {
  for (Posted* p = posted_.first(); p; p = posted_.after(*p)) {
    if (p->mode == Mode::held) p->mode = Mode::free;
  }
  held_ = 0;
}

Matcher::Match Matcher::poll_match() {
  for (Posted* p = posted_.first(); p; p = posted_.after(*p)) {
    if (p->mode != Mode::free) continue;
    for (Arrived* m = unexpected_.first(); m; m = unexpected_.after(*m)) {
      if (!accepts(*p, *m)) continue;
      posted_.remove(*p);
      unexpected_.remove(*m);
      return {p, m};
    }
  }
  return {};
}

}  // namespace hf::core::match
