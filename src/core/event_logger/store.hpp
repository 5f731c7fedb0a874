// What an agent holds of the events of ranks of other nodes (docs/node-loss.md). Pure.
//
// A rank's events are one stream of bytes over all its incarnations, and beside it the clock of the last completion test that is known to
// have found nothing (events.md, the lazy event). Whoever hosts the rank appends to it under the term of that
// hosting; opening the stream under a newer term gives all of it and refuses the older ones from then on (fencing).
#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "base/bytes.hpp"
#include "base/growing_bytes.hpp"
#include "base/ids.hpp"
#include "core/event_logger/extent.hpp"

namespace hf::core::event_logger {

class Store {
 public:
  explicit Store(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  enum class Verdict {
    taken,    // the answer is end()
    outdated, // sent to this holder in an earlier generation: nobody waits for the answer
    refused,  // a newer term exists
    gap,      // begins behind the end: the sender is broken
    full,     // nothing was taken: bytes_max
  };
  // `generation`: in which the sender was given this holder. `promised`: how far it has told its rank that events are stable, by an earlier
  // holder perhaps. `position`: of the first byte; of a question (extent.hpp), how much the sender's hosting found: what an older one has given
  // here behind it is dropped, and what it had promised beyond `promised` is so no more.
  Verdict on_append(Rank rank, Term term, Generation generation, std::uint64_t position, const Extent& promised, TestClock last_failed,
                    Bytes bytes);

  // Under optimist, before the first append under `term`: the rank goes on with what stands before `kept` of what is here, which is of an
  // older term (vprotocol::Cuts::kept). Without it a newer term begins with nothing.
  void on_cut(Rank rank, Term term, std::uint64_t kept);

  // What ranks of this node were given with messages, of the hosting that appended last: adds what is missing behind the end. Before
  // on_open(), pieces in order of their positions.
  void on_carried(Rank rank, Term term, std::uint64_t position, TestClock last_failed, Bytes bytes);
  Term term(Rank rank) const;  // of the hosting that appended last

  // While a hosting's copy has only begun, and stands on all of an older one's, it is still the older one's.
  struct Content {
    bool refused = false;
    Term term{};                 // of the hosting that appended last
    Generation generation{};     // of its last append; 0: none under that term
    bool known = false;          // something was appended or opened here before
    Extent promised;             // more than there is: events were lost with their holder
    TestClock last_failed{};
    Bytes bytes;                 // valid until the next call
  };
  // The rank is hosted elsewhere from now on, under this term.
  Content on_open(Rank rank, Term term);

  std::uint64_t end(Rank rank) const;
  TestClock last_failed(Rank rank) const;
  // What hostings before this term appended, and that one while this was its holder in an earlier generation: the rank's present holder is
  // another. Hostings before are refused from then on.
  void forget(Rank rank, Term below, Generation generation = {});
  std::uint64_t bytes() const { return bytes_; }

 private:
  // Whose copy it is.
  struct Label {
    Term term{};
    Generation generation{};  // of the last append under that term
    Extent promised;
  };
  struct Stream {
    Term fence{};  // appends of lower terms are refused
    Label label{};
    std::optional<Label> older{};  // one that was whole, of which this one was made, and is not
    bool known = false;  // appended or opened, and not forgotten since
    bool is_whole() const { return Extent{bytes.size(), last_failed}.covers(label.promised); }
    void begin(Term term);
    TestClock last_failed{};
    GrowingBytes bytes{};
  };
  void shorten(Stream& stream, std::uint64_t end);
  void keep_found(Stream& stream, std::uint64_t position, const Extent& promised);

  std::uint64_t bytes_max_, bytes_ = 0;
  std::map<Rank, Stream> streams_;
};

}  // namespace hf::core::event_logger
