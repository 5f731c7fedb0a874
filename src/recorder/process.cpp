#include "recorder/aside.hpp"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/map_apart.hpp"
#include "recorder/settling.hpp"
#include "wire/bootstrap.hpp"
#include "wire/recorder.hpp"

namespace hf::recorder {

constexpr Process::Process() : recording({append_event, diverged}), published_reads_(&unpublished_reads_) {}

constinit Process process;
alignas(16) std::byte aside_stack[aside_bytes];
AsideLock aside_lock;

void AsideLock::lock() {
  while (__atomic_exchange_n(&taken_, true, __ATOMIC_ACQUIRE)) ::syscall(SYS_sched_yield);
  is_main_threads_ = process.on_main_thread();
}

bool AsideLock::lay_down() {
  if (!process.on_main_thread() || !is_main_threads_) return false;
  unlock();
  return true;
}

namespace {

constexpr std::size_t kept_max = 16 << 20;  // events from before MPI_Init

struct Range {
  const void* inside;
  std::uintptr_t begin = 0, end = 0;
};

// The extent of the loaded object that contains `inside`.
int find_range(dl_phdr_info* info, std::size_t, void* data) {
  auto& range = *static_cast<Range*>(data);
  const auto inside = reinterpret_cast<std::uintptr_t>(range.inside);
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const std::uintptr_t at = info->dlpi_addr + part.p_vaddr;
    if (at < begin) begin = at;
    if (at + part.p_memsz > end) end = at + part.p_memsz;
  }
  if (inside < begin || inside >= end) return 0;
  range.begin = begin;
  range.end = end;
  return 1;
}

int connect_to(const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = strlen(name);
  if (length + 1 > sizeof address.sun_path) return -1;
  memcpy(address.sun_path + 1, name, length);
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), size) == 0) return fd;
  ::close(fd);
  return -1;
}

// One question, one answer: its kind, with the descriptor that came along, -1 without one.
wire::BootstrapKind ask(int socket, std::int32_t rank, wire::PastInfo& info, int& file) {
  struct {
    wire::BootstrapKind kind = wire::BootstrapKind::get_past;
    wire::PastName name;
  } question;
  question.name.rank = rank;
  std::byte answer[sizeof(wire::BootstrapKind) + sizeof(wire::PastInfo)];
  if (::send(socket, &question, sizeof question, MSG_NOSIGNAL) != sizeof question) return wire::BootstrapKind::refused;
  iovec piece{answer, sizeof answer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (cmsghdr* c = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr; c && c->cmsg_type == SCM_RIGHTS) memcpy(&file, CMSG_DATA(c), sizeof file);
  wire::BootstrapKind kind;
  if (got < static_cast<ssize_t>(sizeof kind)) return wire::BootstrapKind::refused;
  memcpy(&kind, answer, sizeof kind);
  if (kind != wire::BootstrapKind::past) return kind;
  if (got != sizeof answer || file < 0) return wire::BootstrapKind::refused;
  memcpy(&info, answer + sizeof kind, sizeof info);
  return kind;
}

timespec real_time() {
  timespec now;
  ::syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  return now;
}

// Files are dated by a clock that ticks every few milliseconds: all that is older has an earlier date than this tick, all that is made from now on has none.
timespec tick_of_files() {
  timespec before, now;
  ::syscall(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &before);
  constexpr timespec pause{0, 100'000};
  for (int i = 0; i < 200; ++i) {
    ::syscall(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec != before.tv_sec || now.tv_nsec != before.tv_nsec) return now;
    ::syscall(SYS_nanosleep, &pause, nullptr);
  }
  return real_time();
}

// What this process runs: the wrapper of a rank, and what it starts, are not the rank, though they have its environment.
std::uint64_t hash_of_program() {
  std::uint64_t hash = 14695981039346656037u;
  char bytes[4096];
  auto add = [&](long n) {
    for (long i = 0; i < n; ++i) hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 1099511628211u;
  };
  add(::readlink("/proc/self/exe", bytes, sizeof bytes));
  const long fd = ::syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  for (long n; fd >= 0 && (n = ::syscall(SYS_read, fd, bytes, sizeof bytes)) > 0;) add(n);
  if (fd >= 0) ::syscall(SYS_close, fd);
  return hash;
}

}  // namespace

// At the first call of a function that is recorded.
bool Process::start() {
  state_ = State::off;  // not for what is called here
  call_on_stack(aside_stack + aside_bytes, [](void* self) { static_cast<Process*>(self)->find_out(); }, this);
  return state_ == State::on;
}

void Process::find_out() {
  const int before = errno;
  const char* agent = ::getenv(wire::env_agent);
  const char* rank = ::getenv(wire::env_rank);
  if (agent && *agent && rank && ask_for_past(agent, atoi(rank)) && is_rank()) {
    thread_ = __builtin_thread_pointer();
    ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    state_ = State::on;
  }
  errno = before;
}

bool Process::ask_for_past(const char* agent, std::int32_t rank) {
  const int socket = connect_to(agent);
  if (socket < 0) return false;
  wire::PastInfo info;
  int file = -1;
  const wire::BootstrapKind kind = ask(socket, rank, info, file);
  bool known = kind == wire::BootstrapKind::absent;
  if (kind == wire::BootstrapKind::past) {
    void* memory = info.bytes == 0 ? nullptr : map_apart(info.bytes, PROT_READ, MAP_PRIVATE, file);
    known = memory != MAP_FAILED && load(static_cast<const std::byte*>(memory), info);
  }
  if (file >= 0) ::close(file);
  ::close(socket);
  return known;
}

bool Process::load(const std::byte* past, const wire::PastInfo& info) {
  const std::size_t files = FileIndex::count(past, info.bytes);
  void* places = files == 0 ? nullptr : map_apart(files * sizeof(FilePlace), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  if (places == MAP_FAILED) return false;
  recording.load(past, info.bytes, info.clock_reads, static_cast<FilePlace*>(places));
  threads.order.load(past, info.bytes, info.thread_turns);
  noted_call_ = recording.last_call();
  return true;
}

// The predecessors, if they came so far, ran the same.
bool Process::is_rank() {
  std::uint64_t recorded = 0;
  program_ = hash_of_program();
  program_is_recorded_ = recording.replay_value(Call::program, recorded);
  if (program_is_recorded_ && recorded != program_) return false;
  host_clocks_ = read_host_clocks();
  host_is_recorded_ = program_is_recorded_ && recording.replay_host(host_clocks_);
  began_ = recording.is_first() ? real_time() : tick_of_files();
  first_began_ns_ = static_cast<std::uint64_t>(began_.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(began_.tv_nsec);
  began_is_recorded_ = host_is_recorded_ && recording.replay_value(Call::began, first_began_ns_);
  return true;
}

// In a process that is not the rank.
void Process::stop() {
  state_ = State::off;
  threads.stop();
}

void Process::before_fork() {
  if (process.on_main_thread()) aside([] { process.decide_fork(); });
}

// Until one of them has called MPI_Init, it is not known which process is the rank. Where the run before does not say so, a child that is it, or that is
// not, may go on: what it records stays in its own memory.
void Process::decide_fork() {
  fork_ = Fork::of_no_rank;
  if (state_ != State::on || has_begun()) return;
  ++forks_;
  if (recording.is_next(Call::child, forks_)) fork_ = Fork::of_rank;
  else if (recording.is_over()) fork_ = Fork::perhaps_of_rank;
}

// What follows in the record is the child's.
void Process::after_fork_in_parent() {
  if (process.on_main_thread() && process.fork_ == Fork::of_rank) process.stop();
}

void Process::after_fork_in_child() {
  aside_lock.unlock();
  if (!process.on_main_thread() || process.fork_ == Fork::of_no_rank) return process.stop();
  aside([] { process.become_child(); });
}

void Process::become_child() {
  std::uint64_t number = forks_;
  if (!recording.replay_value(Call::child, number)) recording.record_value(Call::child, number);
  begin_process_ids();
}

// While threads are ordered, one thread at a time.
void Process::append_event(const void* event, std::size_t bytes) {
  const bool ordered = threads.ordered();
  if (ordered) threads.lock.lock();
  process.append_in_turn(event, bytes);
  if (ordered) threads.lock.unlock();
}

// What the next incarnation must know before anything else. Both are appended as other events are.
void Process::record_beginning() {
  const bool program = program_is_recorded_, host = host_is_recorded_, began = began_is_recorded_;
  program_is_recorded_ = host_is_recorded_ = began_is_recorded_ = true;
  if (!program) recording.record_value(Call::program, program_);
  if (!host) recording.record_host(host_clocks_);
  if (!began) recording.record_value(Call::began, first_began_ns_);
}

void Process::append_in_turn(const void* event, std::size_t bytes) {
  if (!has_begun()) return keep(event, bytes);
  if (!program_is_recorded_ || !host_is_recorded_ || !began_is_recorded_) record_beginning();
  store_.append(store_.self, event, bytes);
}

void Process::keep(const void* event, std::size_t bytes) {
  if (too_many_ || kept_bytes_ + bytes > kept_max) {
    too_many_ = true;
    return;
  }
  if (!kept_) {
    void* memory = map_apart(kept_max, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
    if (memory == MAP_FAILED) {
      too_many_ = true;
      return;
    }
    kept_ = static_cast<std::byte*>(memory);
  }
  memcpy(kept_ + kept_bytes_, event, bytes);
  kept_bytes_ += bytes;
}

bool Process::begin(const void* inside) {
  if (state_ == State::unknown) start();
  if (state_ != State::on) return false;
  Range range{inside};
  ::dl_iterate_phdr(find_range, &range);
  threads.library_begin = range.begin;
  threads.library_bytes = range.end - range.begin;
  thread_ = __builtin_thread_pointer();
  return true;
}

bool Process::attach(const wire::EventStore& store, std::uint64_t* clock_reads) {
  if (too_many_) return false;
  store_ = store;
  for (std::size_t at = 0; at < kept_bytes_;) {
    EventHead head;
    memcpy(&head, kept_ + at, sizeof head);
    append_event(kept_ + at, core::vprotocol::encoded_bytes(head));
    at += core::vprotocol::encoded_bytes(head);
  }
  if (kept_) ::munmap(kept_, kept_max);
  kept_ = nullptr;
  published_reads_ = clock_reads;
  publish_reads();
  return true;
}

void Process::await_stable() {
  if (!store_.await_stable) return;
#ifndef HOLDFAST_MUTATE_UNSTABLE_STEPS
  flush();
  note_call();
  store_.await_stable(store_.self);
#endif
}

// How far the run before had come is known to others by its messages, and it may not send any.
void Process::note_call() {
  const std::uint64_t call = __atomic_load_n(store_.call, __ATOMIC_RELAXED);
  if (call <= noted_call_) return;
  noted_call_ = call;
  recording.record_file(FileStep::in_call, 0, {static_cast<std::int64_t>(call), 0});
}

void Process::flush() {
  recording.flush_clock();
  threads.flush();
}

void Process::diverged(const char* what) {
  ::fprintf(stderr,
            "holdfast: the replay differs from the run before: %s than in the run before. What the program does depends on something that "
            "is not recorded (docs/recorder.md); --record-libc no leaves the C library alone\n",
            what);
  ::_exit(1);
}

// In whatever thread MPI is called, which has the lock of the rank where threads are ordered.
static bool hear_of_end(wire::ReplayEnd end) {
  const bool has_rank = threads.lock.is_mine();
  const int depth = has_rank ? threads.lock.lay_down() : 0;
  auto hear = [=] {
    if (has_rank) threads.lock.take_up(depth);
    return come_as_far(end);
  };
  if (process.on_main_thread()) return aside(hear);
  const LockedAside locked(true);
  return hear();
}

}  // namespace hf::recorder

extern "C" [[gnu::visibility("default")]] const hf::wire::RecorderLink holdfast_recorder = {
    hf::wire::recorder_version,
    [](const void* inside) { return hf::recorder::process.begin(inside); },
    [](const hf::wire::EventStore* store, std::uint64_t* reads) { return hf::recorder::process.attach(*store, reads); },
    [] { return hf::recorder::process.recording.last_call(); },
    [] { hf::recorder::process.flush(); },
    [](hf::wire::ReplayEnd end) { return hf::recorder::hear_of_end(end); },
    [](const hf::wire::ThreadOwner* owner) { hf::recorder::threads.decide(owner); },
    [] { hf::recorder::threads.order_if_several(); },
    [] { hf::recorder::threads.end_order(); },
    [](const char* function) { return hf::recorder::threads.await_turn(function); },
    [] { return hf::recorder::threads.enter_call(); },
    [] { hf::recorder::threads.leave_call(); },
    [] { hf::recorder::threads.lock.offer(); },
    [] { return hf::recorder::threads.lock.lay_down(); },
    [](int depth) { hf::recorder::threads.lock.take_up(depth); },
    [] { return hf::recorder::threads.go_out(); },
    [](int depth) { hf::recorder::threads.come_back(depth); },
    [] { hf::recorder::threads.enter_nested(); },
    [](double* seconds) { hf::recorder::give_time(seconds); },
};
