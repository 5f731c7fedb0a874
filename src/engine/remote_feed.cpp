// Feeding from the logs of ranks of other nodes, through their agents: as feed.cpp, but asynchronous.
#include "base/check.hpp"
#include "engine/engine_impl.hpp"

namespace hf::engine {
namespace {

constexpr std::uint32_t follow_ms = 1000;             // how long an agent holds a question about a living rank
constexpr std::int64_t absent_pause_ns = 2'000'000;   // before asking again for what is not there yet

}  // namespace

void EngineImpl::open_remote_logs() {
  rail::tcp::Key key;
  std::memcpy(key.data(), agent->welcome().job_key, key.size());
  remote_log_ = std::make_unique<RemoteLog>(job.self, incarnation, job.rank_count, key);
}

RemoteStream EngineImpl::stream_of(const Peer& from, Incarnation wanted) const {
  return {from.agent, from.rank, wanted, job.self};
}

// Asks for the next records of a peer whose log is being followed, one question at a time.
void EngineImpl::feed_remote(Peer& from) {
  Incoming& in = from.in;
  if (in.is_refused()) return;
  if (in.fed == from.incarnation && in.open && in.cursor >= in.opening && !in.behind) return end_remote_feed(from);
  if (in.question != 0 || (in.exhausted && in.fed == from.incarnation)) return;
  if (in.ask_again_at != 0 && now_ns() < in.ask_again_at) return;
  in.ask_again_at = 0;
  look_up(from);
  bool follow = in.past_taken && in.fed == from.incarnation && from.running() && !in.behind;
  std::uint64_t room = in.held_bytes < credit_bytes_ ? credit_bytes_ - in.held_bytes : 0;
  in.asked_when_ended = from.incarnation > in.fed;
  in.question = remote_log_->read(stream_of(from, in.fed), in.cursor, room, follow ? follow_ms : 0);
  questions_[in.question] = &from;
}

// The channel goes on from here: frames that waited are taken, the ones known from the log are dropped by position.
void EngineImpl::end_remote_feed(Peer& from) {
  Incoming& in = from.in;
  cancel_question(from);
  in.feeding = in.behind = false;
  in.past_taken = true;
  std::deque<WaitingFrame> waiting = std::move(in.waiting);
  in.waiting.clear();
  const Incarnation incarnation = from.incarnation;
  for (WaitingFrame& frame : waiting) {
    // The rest came over a channel that has ended meanwhile: it is in the log.
    if (in.is_refused() || from.incarnation != incarnation) return;
    if (in.feeding) in.waiting.push_back(std::move(frame));  // what it depends on is not known yet
    else on_frame(from, frame.header, frame.payload);
  }
}

void EngineImpl::cancel_question(Peer& from) {
  if (from.in.question == 0) return;
  remote_log_->cancel(from.in.question);
  questions_.erase(from.in.question);
  from.in.question = 0;
}

void EngineImpl::poll_remote_logs() {
  RemoteAnswer answer;
  while (remote_log_->poll(answer)) {
    if (answer.kind == RemoteAnswer::stranger) {
      note(answer.reason);
    } else if (answer.kind == RemoteAnswer::records) {
      auto it = questions_.find(answer.id);
      if (it == questions_.end()) continue;
      Peer& from = *it->second;
      questions_.erase(it);
      from.in.question = 0;
      on_records(from, answer);
    } else {
      on_fetched(answer);
    }
  }
}

void EngineImpl::on_records(Peer& from, const RemoteAnswer& answer) {
  Incoming& in = from.in;
  if (answer.absent && in.asked_when_ended) return next_incarnation(from);  // it died before it had begun
  if (answer.absent) {
    in.behind = false;
    in.ask_again_at = now_ns() + absent_pause_ns;
    return;
  }
  if (answer.damaged) end_for_log(from, answer.dropped);
  taking_from_log_ = true;
  const std::uint32_t begun = in.begun_again;
  auto take = [&](const RemoteRecord& record) { return take_remote_record(from, record) && in.begun_again == begun; };
  const bool all = std::ranges::all_of(answer.run, take);
  taking_from_log_ = false;
  if (in.begun_again != begun) return;  // a cut was seen meanwhile
  if (!all) {
    in.ask_again_at = now_ns() + absent_pause_ns;
    return;
  }
  if (answer.next > in.cursor) in.cursor = answer.next;
  if (answer.run.empty() && in.cursor < answer.published) in.ask_again_at = now_ns() + absent_pause_ns;  // not stable there yet
  if (in.cursor >= answer.published) in.behind = false;
  if (in.cursor >= answer.published && in.fed == from.incarnation) in.past_taken = true;
  if (!answer.is_final || in.cursor < answer.published) return;
  if (from.incarnation > in.fed) next_incarnation(from);
  else in.exhausted = true;  // nothing more comes of this incarnation
}

void EngineImpl::next_incarnation(Peer& from) {
  ++from.in.fed;
  from.in.cursor = 0;
}

// False: nothing behind it may be taken, now or ever.
bool EngineImpl::take_remote_record(Peer& from, const RemoteRecord& record) {
  FrameHeader header = record.header;
  if (from.in.is_refused()) return false;
  if (header.source != from.rank.value || header.position < from.in.cursor) return true;
  const bool depends = header.kind == FrameKind::dependencies;
  if (depends && (!optimist_ || record.omitted)) abort(1, "the log of a peer on another node does not say what its messages depend on");
  if (depends && !take_dependencies(from, from.in.fed, record.payload)) return false;
  from.in.cursor = header.position + segment::padded(sizeof(FrameHeader) + wire::payload_in_log(header));
  if (depends) return true;
  if (header.kind == FrameKind::matched) return on_matched(from, name_of(header)), true;
  header.kind = record.omitted ? FrameKind::rendezvous : FrameKind::eager;
  header.offset = record.chunk;
  ++counters().messages_replayed;
  accept(from, header, record.omitted ? Bytes() : record.payload, nullptr, nullptr);
  return true;
}

// ---- payloads

void EngineImpl::fetch(Message& m) {
  look_up(peer(m.source));
  RemoteStream stream = stream_of(peer(m.source), Incarnation{m.header.incarnation});
  auto chunk = static_cast<segment::ChunkId>(m.header.offset);
  fetches_[remote_log_->fetch(stream, m.header.position, chunk, m.arrived, m.wanted - m.arrived)] = &m;
}

void EngineImpl::give_up_fetch(const Message& m) {
  auto it = std::ranges::find(fetches_, &m, [](const auto& fetch) { return fetch.second; });
  if (it == fetches_.end()) return;
  remote_log_->cancel(it->first);
  fetches_.erase(it);
}

// The channel is gone: what was being sent over it is taken from the sender's log instead.
void EngineImpl::fetch_what_was_coming(Peer& from) {
  rail_->unplace(from.rank);  // from here on the log fills that place
  auto receiving = std::move(from.in.receiving);
  from.in.receiving.clear();
  for (auto& [name, m] : receiving) {
    if (m->header.flags & wire::flag_logged) fetch(*m);
    else from.in.receiving.emplace(name, m);
  }
}

void EngineImpl::on_fetched(const RemoteAnswer& answer) {
  auto it = fetches_.find(answer.id);
  if (it == fetches_.end()) return on_fetched_again(answer);
  Message& m = *it->second;
  if (answer.absent && (m.header.flags & wire::flag_ahead)) {
    fetches_.erase(it);
    if (!answer.is_final) fetch(m);  // it is being logged
    return;                          // else it comes again from the sender's next incarnation
  }
  if (answer.absent || answer.damaged || answer.offset != m.arrived) {
    abort(1, "the log of a peer on another node does not hold a message that it announced");
  }
  put(m.receive->sink, m.arrived, answer.data);
  m.arrived += answer.data.size();
  if (!answer.last) return;
  fetches_.erase(it);
  on_payload_of(m);
  finish(*m.receive, m);
}

}  // namespace hf::engine
