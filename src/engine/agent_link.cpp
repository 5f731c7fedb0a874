#include "engine/agent_link.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "os/memory_file.hpp"
#include "segment/control.hpp"

namespace hf::engine {

using wire::BootstrapKind;

Result<std::unique_ptr<AgentLink>> AgentLink::connect(std::string_view socket_name, Rank rank) {
  auto socket = os::connect_seqpacket(socket_name);
  if (!socket) return std::unexpected(socket.error());
  auto link = std::make_unique<AgentLink>();
  link->socket_ = std::move(*socket);
  wire::Hello hello;
  hello.rank = rank.value;
  auto answer = link->ask(BootstrapKind::hello, std::as_bytes(std::span(&hello, 1)));
  if (!answer) return std::unexpected(answer.error());
  if (auto taken = link->take_welcome(std::move(*answer)); !taken) return std::unexpected(taken.error());
  return link;
}

Result<> AgentLink::take_welcome(os::Datagram datagram) {
  ByteReader in(datagram.bytes);
  auto kind = in.get<BootstrapKind>();
  if (in.ok() && kind == BootstrapKind::refused) return fail(Lost::job, std::string(text_of(in.rest())));
  welcome_ = in.get<wire::Welcome>();
  if (!in.ok() || kind != BootstrapKind::welcome || welcome_.version != wire::bootstrap_version) {
    return fail(Lost::job, "the agent and this library are of different versions: install both from one build");
  }
  for (int i = 0; i < welcome_.rank_count && in.ok(); ++i) ranks_.push_back(in.get<wire::RankEntry>());
  const bool bounded = welcome_.rule_count <= 2 * wire::collective_rules_max;
  const bool rank_within = welcome_.rank >= 0 && welcome_.rank < welcome_.rank_count;
  const bool agent_within = welcome_.agent >= 0 && welcome_.agent < welcome_.agent_count;
  if (!bounded || !rank_within || !agent_within) return fail(Lost::job, "the agent's welcome is damaged");
  for (std::uint32_t i = 0; i < welcome_.rule_count; ++i) rules_.push_back(in.get<wire::CollectiveRule>());
  if (!in.ok() || datagram.fds.size() != 3) return fail(Lost::job, "the agent's welcome is incomplete");
  for (const wire::RankEntry& rank : ranks_) {
    if (rank.agent < 0 || rank.agent >= welcome_.agent_count) return fail(Lost::job, "the agent's welcome is damaged");
  }
  auto board = os::Mapping::map(datagram.fds[0].get(), false);
  auto control = os::Mapping::map(datagram.fds[1].get(), true);
  if (!board || !control) return std::unexpected((board ? control : board).error());
  const std::size_t board_bytes = wire::board_bytes(welcome_.rank_count);
  if (board->bytes().size() < board_bytes || control->bytes().size() < segment::control_bytes(welcome_.rank_count)) {
    return fail(Lost::job, "the agent's shared memory is too small: install agent and library from one build");
  }
  board_ = std::move(*board);
  control_ = std::move(*control);
  doorbell_ = std::move(datagram.fds[2]);
  return {};
}

std::uint64_t AgentLink::board_epoch() const {
  return segment::load_acquire(reinterpret_cast<const wire::BoardHeader*>(board_.bytes().data())->epoch);
}

const wire::BoardEntry& AgentLink::entry_of(int rank) const {
  return reinterpret_cast<const wire::BoardEntry*>(board_.bytes().data() + wire::board_entries_offset)[rank];
}

wire::BoardEntry AgentLink::board_entry(Rank rank) const {
  const wire::BoardEntry& entry = entry_of(rank.value);
  wire::BoardEntry out;
  // The port belongs to the incarnation read before and after it. Where the logs are stands there before an incarnation that was
  // moved, so that what is read behind the incarnation is not older than it.
  do {
    out.incarnation_and_state = segment::load_acquire(entry.incarnation_and_state);
    out.address_and_port = segment::load_acquire(entry.address_and_port);
    out.agent_and_log_base = segment::load_acquire(entry.agent_and_log_base);
    out.log_address_and_port = segment::load_acquire(entry.log_address_and_port);
    out.cut_off = segment::load_acquire(entry.cut_off);
  } while (segment::load_acquire(entry.incarnation_and_state) != out.incarnation_and_state);
  return out;
}

AgentLink::Stable AgentLink::stable() const {
  const wire::BoardEntry& entry = entry_of(welcome_.rank);
  return {segment::load_acquire(entry.stable_events), TestClock{segment::load_acquire(entry.stable_failed)}};
}

const wire::BoardDependencies& AgentLink::dependencies_of(Rank rank) const {
  const std::byte* all = board_.bytes().data() + wire::board_dependencies_offset(welcome_.rank_count);
  return reinterpret_cast<const wire::BoardDependencies*>(all)[rank.value];
}

std::uint64_t AgentLink::cut_total() const {
  return segment::load_acquire(reinterpret_cast<const wire::BoardHeader*>(board_.bytes().data())->cut_total);
}

std::uint64_t AgentLink::stable_news() const {
  return segment::load_acquire(reinterpret_cast<const wire::BoardHeader*>(board_.bytes().data())->stable_news);
}

bool AgentLink::looks_unasked() const { return segment::load_acquire(dependencies_of(Rank{welcome_.rank}).looked_at) != 0; }

int AgentLink::events_holder() const {
  return static_cast<int>(segment::load_acquire(reinterpret_cast<const wire::BoardHeader*>(board_.bytes().data())->events_holder)) - 1;
}

Term AgentLink::events_term(Rank rank) const { return Term{static_cast<std::uint32_t>(segment::load_acquire(entry_of(rank.value).events_term))}; }

Result<os::Datagram> AgentLink::ask(BootstrapKind kind, Bytes body) {
  tell(kind, body);
  auto answer = os::receive_datagram(socket_.get());
  if (!answer) return answer;
  if (answer->bytes.empty()) lost();
  return answer;
}

void AgentLink::tell(BootstrapKind kind, Bytes body, std::string_view text) {
  std::vector<std::byte> out;
  ByteWriter writer(out);
  writer.put(kind);
  writer.put_bytes(body);
  writer.put_bytes(bytes_of(text.substr(0, 4096)));
  if (!os::send_datagram(socket_.get(), out)) lost();
}

os::Mapping AgentLink::segment(const wire::SegmentName& name) {
  auto answer = ask(BootstrapKind::get_segment, std::as_bytes(std::span(&name, 1)));
  return answer ? take(*answer, false) : os::Mapping();
}

// Were it passed over, what stands in it would be taken for what was never sent.
os::Mapping AgentLink::take(const os::Datagram& answer, bool writable) {
  ByteReader in(answer.bytes);
  if (in.get<BootstrapKind>() != BootstrapKind::segment) return {};
  Result<os::Mapping> mapping = fail("this process can open no more files: raise ulimit -n");
  if (!answer.fds.empty()) mapping = os::Mapping::map(answer.fds[0].get(), writable);
  if (mapping) return std::move(*mapping);
  tell(BootstrapKind::abort_job, wire::AbortJob{1}, fmt::format("rank {} cannot take a log segment: {}", welcome_.rank, mapping.error().text));
  ::_exit(1);
}

os::UniqueFd AgentLink::doorbell_of(Rank rank) {
  wire::RankName name{rank.value};
  auto answer = ask(BootstrapKind::get_doorbell, std::as_bytes(std::span(&name, 1)));
  if (!answer || answer->fds.empty()) return {};
  return std::move(answer->fds[0]);
}

MutableBytes AgentLink::new_log_segment() {
  auto answer = ask(BootstrapKind::new_log_segment, {});
  os::Mapping mapping = answer ? take(*answer, true) : os::Mapping();
  if (mapping.bytes().empty()) return {};
  ByteReader in(answer->bytes);
  in.get<BootstrapKind>();
  auto info = in.get<wire::SegmentInfo>();
  if (in.ok() && info.on_disk) os::write_zeros(answer->fds[0].get(), info.bytes);
  mapping.populate();  // one call instead of a fault for every page
  return mapping.release();
}

bool AgentLink::closed() {
  pollfd look{socket_.get(), 0, 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR));
}

// The agent ends its ranks when it ends; one that outlives it for a moment goes without a word.
void AgentLink::lost() { ::_exit(1); }

}  // namespace hf::engine
