#include "core/event_logger/file_writer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.hpp"

namespace hf::core::event_logger {
namespace {

using Step = FileWriter::Step;

// Stable is what was on disk before it was seen that the hosting is not over.
#if defined HOLDFAST_MUTATE_STABLE_BEFORE_SYNC
constexpr std::array order{Step::write, Step::look};
#elif defined HOLDFAST_MUTATE_LOOK_BEFORE_SYNC
constexpr std::array order{Step::write, Step::look, Step::sync};
#else
constexpr std::array order{Step::write, Step::sync, Step::look};
#endif

}  // namespace

FileWriter::FileWriter(const FileName& name) : name_(name) { encode_head(name, gathered_); }

void FileWriter::on_record(const FileRecord& record) {
  Stream& stream = streams_[record.rank];
  if (record.kind == FileRecord::Kind::cut) {
    if (record.term <= stream.term) return;
    stream = {record.term, {std::min(stream.extent.end, record.position), {}}};
  } else {
    if (record.term < stream.term) return;  // was on its way when the rank was rolled back
    if (record.term > stream.term) stream = {record.term, {}};
    HF_CHECK(is_question(record.last_failed, record.bytes) || record.position <= stream.extent.end);
    if (!record.bytes.empty()) stream.extent.end = record.position + record.bytes.size();
    stream.extent.last_failed = std::max(stream.extent.last_failed, record.last_failed);
  }
  const std::uint64_t before = size_ + batch_.size();  // on disk when the next batch is written
  encode(record, name_, before + gathered_.size(), before, gathered_);
  gathered_streams_[record.rank] = stream;
}

Step FileWriter::next() {
  if (!under_way_) {
    if (gathered_streams_.empty()) return Step::none;
    under_way_ = true;
    step_ = 0;
    batch_ = std::exchange(gathered_, {});
    batch_streams_ = std::exchange(gathered_streams_, {});
  }
  return order[step_];
}

std::vector<Hosting> FileWriter::hostings() const {
  std::vector<Hosting> out;
  for (const auto& [rank, stream] : batch_streams_) out.push_back({rank, stream.term});
  return out;
}

void FileWriter::on_looked(std::span<const Hosting> over) {
#ifndef HOLDFAST_MUTATE_FENCE_NOT_LOOKED_AT
  over_.insert(over_.end(), over.begin(), over.end());
#endif
  advance();
}

void FileWriter::advance() {
  HF_CHECK(under_way_);
  if (++step_ == order.size()) finish();
}

void FileWriter::finish() {
  for (const auto& [rank, stream] : batch_streams_) {
    const Hosting hosting{rank, stream.term};
    if (std::ranges::find(over_, hosting) == over_.end()) stable_.push_back({hosting, stream.extent});
  }
  size_ += batch_.size();
  batch_.clear();
  batch_streams_.clear();
  under_way_ = false;
}

bool FileWriter::poll_stable(Stable& stable) {
  if (stable_.empty()) return false;
  stable = stable_.back();
  stable_.pop_back();
  return true;
}

bool FileWriter::poll_over(Hosting& hosting) {
  if (over_.empty()) return false;
  hosting = over_.back();
  over_.pop_back();
  return true;
}

}  // namespace hf::core::event_logger
