// A rank without MPI: speaks wire/bootstrap.hpp by hand and does what its arguments say, in order. A word may begin
// with "N?": only in incarnation N, or "rR?": only on rank R; both may be combined.
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "base/bytes.hpp"
#include "os/mapping.hpp"
#include "os/seqpacket.hpp"
#include "segment/control.hpp"
#include "wire/bootstrap.hpp"

using namespace hf;
using wire::BootstrapKind;

namespace {

os::UniqueFd agent;
wire::Welcome me;
os::Mapping board, control;
os::UniqueFd doorbell;
int rank = 0;

[[noreturn]] void give_up(const std::string& text) {
  std::fprintf(stderr, "raw: %s\n", text.c_str());
  std::_Exit(9);
}

void tell(BootstrapKind kind, Bytes body = {}, std::string_view text = {}) {
  std::vector<std::byte> bytes;
  ByteWriter out(bytes);
  out.put(kind);
  out.put_bytes(body);
  out.put_bytes(bytes_of(text));
  if (!os::send_datagram(agent.get(), bytes)) give_up("the agent is gone");
}

template <class T>
Bytes raw(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

os::Datagram ask(BootstrapKind kind, Bytes body = {}) {
  tell(kind, body);
  auto answer = os::receive_datagram(agent.get());
  if (!answer || answer->bytes.size() < 4) give_up("no answer");
  return std::move(*answer);
}

BootstrapKind kind_of(const os::Datagram& datagram) {
  return ByteReader(datagram.bytes).get<BootstrapKind>();
}

void hello() {
  auto connected = os::connect_seqpacket(std::getenv(wire::env_agent));
  if (!connected) give_up(connected.error().text);
  agent = std::move(*connected);
  rank = std::atoi(std::getenv(wire::env_rank));
  os::Datagram answer = ask(BootstrapKind::hello, raw(wire::Hello{wire::bootstrap_version, rank}));
  ByteReader in(answer.bytes);
  if (auto kind = in.get<BootstrapKind>(); kind != BootstrapKind::welcome)
    give_up("refused: " + std::string(text_of(in.rest())));
  me = in.get<wire::Welcome>();
  if (answer.fds.size() != 3 || me.rank != rank) give_up("a strange welcome");
  board = std::move(*os::Mapping::map(answer.fds[0].get(), false));
  control = std::move(*os::Mapping::map(answer.fds[1].get(), true));
  if (control.bytes().size() != segment::control_bytes(me.rank_count)) give_up("wrong size of the control segment");
  doorbell = std::move(answer.fds[2]);
  auto& head = *reinterpret_cast<segment::ControlHeader*>(control.bytes().data());
  if (head.magic != 0) give_up("the control segment is not new");
  head.rank = rank;
  head.rank_count = me.rank_count;
  head.incarnation = me.incarnation;
  head.magic = segment::control_magic;
}

segment::ControlHeader& header() {
  return *reinterpret_cast<segment::ControlHeader*>(control.bytes().data());
}

void log_segments(int count) {
  for (int i = 0; i < count; ++i) {
    os::Datagram answer = ask(BootstrapKind::new_log_segment);
    if (kind_of(answer) == BootstrapKind::exhausted) {
      std::printf("exhausted after %d\n", i);
      return;
    }
    ByteReader in(answer.bytes);
    in.get<BootstrapKind>();
    auto info = in.get<wire::SegmentInfo>();
    auto mapping = os::Mapping::map(answer.fds.at(0).get(), true);
    if (!mapping || mapping->bytes().size() != info.bytes || info.index != static_cast<unsigned>(i))
      give_up("a strange log segment");
    mapping->bytes()[0] = std::byte(65 + i % 26);
    std::printf("log %u %s\n", info.index, info.on_disk ? "disk" : "memory");
  }
}

// segment:R:I:K:X -> first byte of that segment
void read_segment(const char* text) {
  int of = 0, incarnation = 0, kind = 0, index = 0;
  std::sscanf(text, "%d:%d:%d:%d", &of, &incarnation, &kind, &index);
  wire::SegmentName name{of, static_cast<unsigned>(incarnation), static_cast<wire::SegmentKind>(kind),
                         static_cast<unsigned>(index)};
  os::Datagram answer = ask(BootstrapKind::get_segment, raw(name));
  if (kind_of(answer) == BootstrapKind::absent) {
    std::printf("absent\n");
    return;
  }
  int flags = ::fcntl(answer.fds.at(0).get(), F_GETFL);
  auto mapping = os::Mapping::map(answer.fds.at(0).get(), false);
  std::printf("segment %d %s\n", static_cast<int>(mapping->bytes()[0]),
              (flags & O_ACCMODE) == O_RDONLY ? "read-only" : "writable");
}

const wire::BoardEntry& board_of(int of) {
  return reinterpret_cast<const wire::BoardEntry*>(board.bytes().data() + wire::board_entries_offset)[of];
}

// wait:R:I:S  until the board says incarnation I and state S of rank R, or later ones; woken by the doorbell
void wait_for(const char* text) {
  int of = 0, incarnation = 0, state = 0;
  std::sscanf(text, "%d:%d:%d", &of, &incarnation, &state);
  std::uint64_t wanted = static_cast<std::uint64_t>(incarnation) << 8 | static_cast<unsigned>(state);
  ::fcntl(doorbell.get(), F_SETFL, 0);
  while (segment::load_acquire(board_of(of).incarnation_and_state) < wanted) {
    eventfd_t count;
    if (::eventfd_read(doorbell.get(), &count) != 0) give_up("no doorbell");
  }
}

bool applies(std::string& word) {
  for (std::size_t mark; (mark = word.find('?')) != std::string::npos && mark < 4;) {
    std::string condition = word.substr(0, mark);
    word = word.substr(mark + 1);
    bool of_rank = condition[0] == 'r';
    int number = std::atoi(condition.c_str() + of_rank);
    int actual = of_rank ? std::atoi(std::getenv(wire::env_rank)) : static_cast<int>(me.incarnation);
    if (number != actual) return false;
  }
  return true;
}

void act(std::string word) {
  if (!applies(word)) return;
  std::size_t colon = word.find(':');
  std::string verb = word.substr(0, colon), value = colon == std::string::npos ? "" : word.substr(colon + 1);
  if (verb == "hello")
    hello();
  else if (verb == "init")
    tell(BootstrapKind::initialized, raw(wire::Initialized{1}));
  else if (verb == "finalize")
    tell(BootstrapKind::finalized);
  else if (verb == "call") {
    segment::store_release<std::uint64_t>(header().call, std::strtoull(value.c_str(), nullptr, 10));
    if (me.kill_at_call != 0 && header().call >= me.kill_at_call) ::raise(SIGKILL);
  } else if (verb == "say")
    std::printf("%s\n", value.c_str());
  else if (verb == "part")
    std::printf("%s", value.c_str());
  else if (verb == "complain")
    std::fprintf(stderr, "%s\n", value.c_str());
  else if (verb == "lines")
    for (int i = 0; i < std::atoi(value.c_str()); ++i) std::printf("rank %d line %d of many\n", rank, i);
  else if (verb == "incarnation")
    std::printf("rank %d incarnation %u\n", rank, me.incarnation);
  else if (verb == "sleep")
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(value.c_str())));
  else if (verb == "signal")
    ::raise(std::atoi(value.c_str()));
  else if (verb == "exit")
    std::_Exit((std::fflush(nullptr), std::atoi(value.c_str())));
  else if (verb == "abort")
    tell(BootstrapKind::abort_job, raw(wire::AbortJob{std::atoi(value.c_str())}), "told to");
  else if (verb == "note")
    tell(BootstrapKind::note, {}, value);
  else if (verb == "caught")
    tell(BootstrapKind::caught_up, raw(wire::CaughtUp{10, 7, 3, 1}));
  else if (verb == "diverge")
    tell(BootstrapKind::diverged, raw(wire::Diverged{std::strcmp(value.c_str(), "warn") != 0, -1, 5}), "byte 3");
  else if (verb == "unprotect")
    tell(BootstrapKind::unprotect, raw(wire::Unprotect{std::atoi(value.c_str())}));
  else if (verb == "listen")
    tell(BootstrapKind::listening,
         raw(wire::Listening{0x0100007f, static_cast<std::uint16_t>(std::atoi(value.c_str()))}));
  else if (verb == "look_up")
    tell(BootstrapKind::look_up, raw(wire::RankName{std::atoi(value.c_str())}));
  else if (verb == "port")
    std::printf("port %u\n", static_cast<unsigned>(board_of(std::atoi(value.c_str())).address_and_port & 0xffff));
  else if (verb == "logs")
    log_segments(std::atoi(value.c_str()));
  else if (verb == "segment")
    read_segment(value.c_str());
  else if (verb == "wait")
    wait_for(value.c_str());
  else if (verb == "where")
    std::printf("rank %d node %d of %d on %s, app %d, oversubscribed %d\n", rank, me.node, me.node_count, me.node_name,
                me.app_number, me.oversubscribed());
  else if (verb == "key") {
    for (std::uint8_t byte : me.job_key) std::printf("%02x", byte);
    std::printf("\n");
  } else if (verb == "point")
    std::printf("point %s\n", me.inject);
  else if (verb == "address")
    std::printf("%p\n", static_cast<void*>(&agent));
  else if (verb == "echo") {
    for (int c; (c = std::getchar()) != EOF;) std::putchar(c);
  } else
    give_up("unknown word " + word);
  std::fflush(nullptr);
}

}  // namespace

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) act(words[i]);
  return 0;
}
