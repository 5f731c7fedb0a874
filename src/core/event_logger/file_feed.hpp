// What an agent's ranks have written, as records of its event file (docs/event-files.md): which bytes, in which order, how far ahead of the
// disk. Pure.
//
// Driving it: add_rank(), roll_back() and look() as things happen; what is to be written goes to the writer at once. on_stable() for what the
// disk has, then pump(); stable() is what a rank may be told.
#pragma once
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "core/event_logger/event_file.hpp"
#include "core/event_logger/file_writer.hpp"
#include "core/event_logger/sender.hpp"

namespace hf::core::event_logger {

class FileFeed {
 public:
  using Extent = Sender::Extent;
  class Writer {
   public:
    virtual Extent written(Rank rank) = 0;  // by the rank, over all its incarnations
    virtual bool read_events(Rank rank, std::uint64_t position, MutableBytes out) = 0;
    virtual void put(const FileRecord& record, std::vector<std::byte> bytes) = 0;  // its bytes are these; in this order
    virtual void on_damaged(Rank rank) = 0;  // what it has written cannot be read

   protected:
    ~Writer() = default;
  };
  // `writer` outlives this. `in_flight_max`: bytes put and not on disk yet.
  FileFeed(Writer& writer, std::uint64_t in_flight_max, std::uint64_t append_max = Sender::append_bytes_max);

  // `promised`: what an earlier hosting may have told to be stable; `told`: what of it is so now.
  void add_rank(Rank rank, Term term, const Extent& promised, const Extent& told);
  // Under optimist: its stream ends at `position`, and goes on under a new term.
  void roll_back(Rank rank, Term term, std::uint64_t position);
  void look(Rank rank);  // it has written something
  void pump();
  // Nothing is put while it is held back; or ever again: what of the last batch is on disk is not known.
  void hold_back(bool on);
  void stop() { stopped_ = true; }

  // False: this was not put.
  bool on_stable(const FileWriter::Stable& stable);
  const Extent& stable(Rank rank) const { return sender_.stable(rank); }

 private:
  Writer& writer_;
  Sender sender_;
  bool held_back_ = false, stopped_ = false;
};

}  // namespace hf::core::event_logger
