// An agent's part in keeping determinants where they outlive a node (docs/node-loss.md): it holds those of other agents' ranks, keeps its
// own ranks' at its holder, and fetches those of ranks that it takes over. One thread, in the agent's loop.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/event_logger/copies.hpp"
#include "core/event_logger/found.hpp"
#include "core/event_logger/store.hpp"
#include "core/vprotocol/cuts.hpp"
#include "core/vprotocol/stable_vector.hpp"
#include "daemon/control_door.hpp"
#include "daemon/event_files.hpp"
#include "segment/carried_events.hpp"

namespace hf::daemon {

class EventKeeper {
 public:
  using Extent = core::event_logger::Copies::Extent;
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual Extent written(Rank rank) = 0;  // by the rank, over all its incarnations
    virtual bool read_events(Rank rank, std::uint64_t position, MutableBytes out) = 0;
    virtual void on_stable(Rank rank, const Extent& extent) = 0;
    virtual void on_held(Generation generation) = 0;
    virtual void on_holder_lost(Generation generation, bool full, const std::string& why) = 0;
    virtual void on_fenced(Rank rank) = 0;  // the rank is hosted elsewhere under a newer term
    virtual void on_damaged(Rank rank) = 0;
    virtual void on_disk_failed(const std::string& why) = 0;  // once: nothing more becomes stable
    virtual int first_host(Rank rank) = 0;  // the agent where it began
    // Ranks may give events to ranks of that agent, which is the holder, with their messages; -1: to nobody any more.
    virtual void on_carriable(int agent) = 0;
    virtual Extent carried(Rank rank) = 0;  // what it may have given so, over all its incarnations
    // From now on no rank here takes events of that rank below this term; what they took under `held`, in order of position.
    virtual std::vector<segment::CarriedEvents::Piece> fence(Rank rank, Term below, Term held) = 0;
    // Protocol optimist: events of any rank of the job are stable up to there, as may have been known before. False: there is no such rank, or
    // it cannot be. Then once for all that came together, if some of it was news.
    virtual bool on_known(Rank rank, Term term, std::uint64_t position) = 0;
    virtual void on_news() = 0;
    // What later hostings than that one's have begun without.
    virtual void trim(Rank rank, core::event_logger::Found& found) = 0;
    virtual const core::vprotocol::Cuts& cuts(Rank rank) = 0;  // as far as this agent has heard: those of a hosting here before it begins
    // And: the rank need not say what it writes, or has to again (BoardDependencies::looked_at).
    virtual void on_looked_at(Rank rank, bool on) = 0;
    virtual void on_busy() = 0;  // TreeNode::on_busy
  };
  using Found = core::event_logger::Found;
  struct Fetched {
    std::map<Rank, Found> found;
    std::string failure;      // nothing was
    bool files_read = false;  // all that was told to be stable is there
    bool all_places = true;   // nobody who was asked had gone
    std::string warning;      // the other level was enough
  };
  using OnFound = std::function<void(Fetched)>;
  struct Settings {
    std::uint64_t bytes_max = 0;  // of others' events
    bool optimist = false;        // agents tell each other what is stable, and ranks carry no events
    int copies = 1;               // holders that must have an event before it is stable; with several ranks carry none
  };
  EventKeeper(os::EventLoop& loop, const JobKey& key, NodeId self, const Settings& settings, Owner& owner);
  ~EventKeeper();
  // Before anything else: events are stable when they are in this agent's file and, with `on_nodes_too`, at the holder as well.
  // Without it the holder is only told what is stable (protocol optimist).
  void keep_on_disk(EventFiles::Place place, bool on_nodes_too);
  void on_guest(int agent, ChannelPtr channel);  // which has proved itself, for events
  // Fault injection: nothing is read from these agents or written to them; none: all are let go.
  void cut_off(std::set<int> agents);
  void hold_back(std::int64_t for_ns);  // the ranks' events go to nobody, and to no file
  EventFiles* files() { return files_.get(); }  // null: not at this level
  void set_address(int agent, Address at) { agents_[agent] = at; }

  // ---- for the ranks of this agent
  // `settled`: what was found of it comes from a hosting whose agent might tell it to be stable (docs/node-loss.md).
  void add_rank(Rank rank, Term term, const Extent& promised, bool settled = true);
  void set_holder(int copy, int agent, Generation generation, int standby);  // -1: no other agent is left
  void look(Rank rank);  // it has written something
  // It goes on under this term with its events up to there, which have been written as such.
  void roll_back(Rank rank, Term term, std::uint64_t position);
  // Whoever takes it over will ask the present holders, and they have what was found: more may be stable.
  void on_settled(Rank rank);
  Extent stable(Rank rank) const;

  // ---- for ranks that are taken over: asks these agents and looks into the files, and tells `on_found` once
  struct Wanted {
    Rank rank{};
    Term term{};       // of the new hosting
    Term told_next{};  // core::event_logger::Told
  };
  void fetch(const std::vector<Wanted>& ranks, const std::vector<int>& places, OnFound on_found);
  void give_up_fetch();  // nobody wants to know any more
  // It is dead: nothing more is awaited of it, also where its network does not tell (a machine that stands still closes no connection).
  void lose_place(int agent);
  void forget(const ForgetEvents& what) { store_.forget(Rank{what.rank}, Term{what.term}, Generation{what.generation}); }

  Generation generation() const;  // the newest of all copies

 private:
  struct Guest {
    int agent = -1;
    ChannelPtr channel;
    std::map<Rank, Term> unanswered;
    bool wants_known = false;   // it has appended, or has asked for it
    std::uint64_t told = 0;     // of what is known to be stable
    bool over = false;
  };
  using GuestPtr = std::shared_ptr<Guest>;
  struct Fetch {
    std::vector<Wanted> ranks;
    std::map<Rank, Found> found;
    std::map<int, std::map<Rank, Found>> coming;
    std::map<int, std::size_t> missing;  // ranks that an agent has not answered for
    std::map<int, std::unique_ptr<ControlVisit>> visits;  // by agent
    bool files_missing = false;  // nobody has looked into them yet
    std::string failure, files_failure;  // of the agents, of the files: one of both is enough
    OnFound on_found;
    bool place_lost = false;
    bool over = false;
  };
  // event_keeper.cpp
  // A connection to an agent that is the holder, or may become it.
  struct Visit {
    std::uint64_t number = 0;
    int agent = -1;
    std::unique_ptr<ControlVisit> door;
    std::uint64_t told = 0;  // of what is known to be stable
  };
  struct Copy {
    int number = 0;
    int holder = -1;
    Generation generation{};
    bool has_holder = false;  // has been told of one, or that there is none
    Visit visit;
    os::EventLoop::TimerId retry = 0;
    Instant lost_at{};
    bool told_lost = false;
    bool open() const { return visit.door && visit.door->open(); }
  };
  Copy* copy_of(std::uint64_t visit);
  bool alone() const;  // it has been told that there is no holder for any copy
  Visit visit(int agent);
  void drop(Visit& visit);
  void on_visit_open(std::uint64_t number);
  void on_visit_closed(std::uint64_t number);
  void on_visit_frame(std::uint64_t number, ControlKind kind, Bytes payload);
  void on_holder_frame(Copy& copy, ControlKind kind, Bytes payload);
  void on_answer(Copy& copy, Bytes payload);
  void on_holder_closed(Copy& copy, const std::string& why);
  void pump();
  void pump(Copy& copy);
  void tell(Rank rank);
  void tell_first(Rank rank);
  void look_again(Rank rank);
  void on_stable_on_disk(Rank rank);
  bool is_fenced_by(const EventsName& refused) const;
  void carry_if_may();
  void stop_carrying();
  // event_looks.cpp
  void see_written(Rank rank);
  void look_unasked(Rank rank);
  void look_at_all();
  // event_exchange.cpp
  void learn(Rank rank, Term term, std::uint64_t position, const void* from);
  void learn(Bytes payload, const void* from);
  void pass_news();
  void ask_for_known(Visit& visit);
  void exchange_soon();
  void exchange();
  void tell_known(ControlChannel& channel, std::uint64_t& told, const void* to);
  void tell_cuts(Copy& copy, Rank rank);
  // event_holding.cpp
  void on_guest_frame(const GuestPtr& guest, ControlKind kind, Bytes payload);
  void on_append(Guest& guest, const EventsAppend& append, Bytes bytes);
  void on_cuts(const EventsName& hosting, Bytes encoded);
  void on_open(Guest& guest, const EventsName& name);
  core::event_logger::Store::Content open(Rank rank, Term term);
  void answer(Guest& guest);
  // event_fetch.cpp
  void ask(int place);
  void on_content(int place, const EventsContent& content, Bytes bytes);
  void done(int place);
  void on_place_closed(int place);
  void read_files(const std::vector<Wanted>& ranks);
  void keep_found(Rank rank, Found found);
  void on_files_read(EventFiles::FoundOf found, std::string failure);
  void conclude_fetch();
  void give_up(const std::string& why);

  os::EventLoop& loop_;
  const JobKey& key_;
  NodeId self_;
  Owner& owner_;
  core::event_logger::Store store_;
  core::event_logger::Copies copies_;
  std::unique_ptr<EventFiles> files_;
  bool on_nodes_ = true;  // the holder has to have them
  std::map<int, Address> agents_;
  std::set<int> cut_off_;
  std::map<Rank, Term> terms_;  // of the ranks here, of their hostings
  std::vector<GuestPtr> guests_;
  std::vector<Copy> kept_;  // by number of the copy
  Visit standby_;
  std::uint64_t visits_ = 0;
  std::vector<std::unique_ptr<ControlVisit>> old_visits_;  // destroyed outside their own handlers
  os::EventLoop::TimerId held_back_ = 0;
  bool held_ = false;  // the one holder has all
  bool carriable_ = false;
  std::set<Rank> look_again_;  // while it is carriable: they want to know when what they wrote since is stable
  // Protocol optimist.
  struct Looks {
    Extent seen;
    int in_vain = 0;  // in a row
  };
  void soon(std::function<void()> then);
  bool looks_enough(Rank rank, Looks& looks);
  bool find_news(Rank rank, Looks& looks);
  bool optimist_;
  std::map<Rank, Looks> looked_at_;  // unasked, once a millisecond
  os::EventLoop::TimerId next_look_ = 0;
  core::vprotocol::StableVector known_;
  std::unordered_map<Rank, const void*> known_from_;  // who told it; null: it is of this agent
  std::vector<core::vprotocol::Dependency> changes_;
  bool has_news_ = false;
  os::EventLoop::TimerId exchange_ = 0;
  Instant exchanged_at_{};
  std::shared_ptr<Fetch> fetch_;
  std::set<int> lost_;  // agents, for good
  std::shared_ptr<bool> here_ = std::make_shared<bool>();  // as long as this is
  std::vector<std::byte> scratch_;
};

}  // namespace hf::daemon
