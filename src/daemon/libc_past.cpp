#include "daemon/libc_past.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/vprotocol/events.hpp"
#include "os/memory_file.hpp"

namespace hf::daemon {

using core::vprotocol::EventHead;

Result<bool> LibcPast::step(std::uint64_t bytes) {
  const auto walked = segments_.walk_events(rank_, position_, end_, bytes, [this](Bytes events) { take(events); });
  if (!walked) return fail(fmt::format("the events of rank {} are damaged", rank_));
  if (changed_) return fail(fmt::format("the events of rank {} are others than a moment ago", rank_));
  const bool over = *walked == position_ || *walked >= end_;
  position_ = *walked;
  if (!over) return false;
  if (pass_ == Pass::copying || of_files_ + others_ == 0) {
    if (Result<> finished = finish(); !finished) return std::unexpected(finished.error());
    return true;
  }
  if (Result<> made = make_file(); !made) return std::unexpected(made.error());
  return false;
}

void LibcPast::take(Bytes events) {
  EventHead head;
  for (std::size_t at = 0; at < events.size(); at += core::vprotocol::encoded_bytes(head)) {
    std::memcpy(&head, events.data() + at, sizeof head);
    if (!core::vprotocol::is_of_libc(head.kind)) continue;
    const Bytes event = events.subspan(at, core::vprotocol::encoded_bytes(head));
    const bool of_file = head.kind == core::vprotocol::EventKind::file;
    std::uint64_t& to = of_file ? of_files_ : others_;
    if (pass_ == Pass::copying) {
      if (event.size() > (of_file ? others_begin_ : info_.bytes) - to) changed_ = true;  // the rank was rolled back meanwhile, and went on
      else std::ranges::copy(event, mapping_.bytes().subspan(to).begin());
    }
    if (!changed_) to += event.size();
  }
}

Result<> LibcPast::make_file() {
  info_.bytes = of_files_ + others_;
  Result<os::UniqueFd> file = os::make_memory_file("holdfast-past", info_.bytes);
  if (!file) return std::unexpected(file.error());
  Result<os::Mapping> mapping = os::Mapping::map(file->get(), true);
  if (!mapping) return std::unexpected(mapping.error());
  file_ = std::move(*file);
  mapping_ = std::move(*mapping);
  others_ = others_begin_ = std::exchange(of_files_, 0);
  pass_ = Pass::copying;
  position_ = 0;
  return {};
}

Result<> LibcPast::finish() {
  segments_.read_past_words(rank_, info_);
  if (!file_) return {};
  Result<os::UniqueFd> read_only = os::reopen_read_only(file_.get());
  if (!read_only) return std::unexpected(read_only.error());
  file_ = std::move(*read_only);
  return {};
}

}  // namespace hf::daemon
