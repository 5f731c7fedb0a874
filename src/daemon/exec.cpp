#include "daemon/exec.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "daemon/agent.hpp"
#include "daemon/head.hpp"
#include "daemon/launcher/pmi.hpp"
#include "daemon/launcher/process_launcher.hpp"
#include "daemon/paths.hpp"
#include "os/print.hpp"
#include "os/process.hpp"

namespace hf::daemon {
namespace {

using Words = std::vector<std::string>;

struct KeyPair {
  std::array<std::uint8_t, crypto_box_PUBLICKEYBYTES> open{};
  std::array<std::uint8_t, crypto_box_SECRETKEYBYTES> secret{};
};
using SealedTicket = std::array<std::uint8_t, sizeof(AgentTicket) + crypto_box_SEALBYTES>;

// What a task tells the others. `words`: of its command line, which must be the same for all.
struct Task {
  int node = 0, local = 0;
  pid_t process = 0;
  std::string words, open_key, node_name;
};

template <class Array>
std::string hex(const Array& bytes) {
  std::string out(bytes.size() * 2 + 1, '\0');
  sodium_bin2hex(out.data(), out.size(), bytes.data(), bytes.size());
  out.pop_back();
  return out;
}

template <class Array>
bool unhex(const std::string& text, Array& bytes) {
  std::size_t size = 0;
  return sodium_hex2bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &size, nullptr) == 0 && size == bytes.size();
}

std::string digest(const Words& words) {
  std::array<std::uint8_t, 16> out{};
  std::string all = own_directory();
  for (const std::string& word : words) all += '\0' + word;
  crypto_generichash(out.data(), out.size(), reinterpret_cast<const std::uint8_t*>(all.data()), all.size(), nullptr, 0);
  return hex(out);
}

// By Slurm's number of the node.
std::string ticket_name(int node) {
  return fmt::format("holdfast-ticket-{}", node);
}
std::string leader_name(int node) {
  return fmt::format("holdfast-leader-{}", node);
}

std::string to_text(const Task& task) {
  return fmt::format("{} {} {} {} {} {}", task.node, task.local, task.process, task.words, task.open_key, task.node_name);
}

Result<Task> task_of(Pmi& pmi, int rank) {
  Result<std::string> text = pmi.get(fmt::format("holdfast-task-{}", rank));
  if (!text) return std::unexpected(text.error());
  Task task;
  std::istringstream in(*text);
  if (!(in >> task.node >> task.local >> task.process >> task.words >> task.open_key >> task.node_name)) {
    return fail(fmt::format("task {} has not said what it is", rank));
  }
  return task;
}

Result<std::vector<Task>> all_tasks(Pmi& pmi) {
  std::vector<Task> out;
  for (int rank = 0; rank < pmi.size(); ++rank) {
    Result<Task> task = task_of(pmi, rank);
    if (!task) return std::unexpected(task.error());
    out.push_back(std::move(*task));
  }
  return out;
}

Result<Task> own_task(const Words& arguments, const KeyPair& keys) {
  const char *node = std::getenv("SLURM_NODEID"), *local = std::getenv("SLURM_LOCALID"), *name = std::getenv("SLURMD_NODENAME");
  if (!node || !local || !name) return fail("SLURM_NODEID, SLURM_LOCALID and SLURMD_NODENAME are not set: is this a task of srun?");
  return Task{std::atoi(node), std::atoi(local), ::getpid(), digest(arguments), hex(keys.open), name};
}

// Nodes are numbered by Slurm in its own order; here by their lowest rank, so that the head's is 0.
struct Nodes {
  Placement placement;
  std::vector<Task> leaders;  // the first task of each
};

Result<Nodes> nodes_of(const std::vector<Task>& tasks) {
  Nodes out;
  std::map<int, std::int32_t> number_of;  // Slurm's number
  for (std::size_t rank = 0; rank < tasks.size(); ++rank) {
    const Task& task = tasks[rank];
    if (task.words != tasks[0].words) {
      return fail(fmt::format("task {} was given another command line or directory than task 0: programs that differ need holdfast run",
                              rank));
    }
    auto [at, first] = number_of.try_emplace(task.node, static_cast<std::int32_t>(out.leaders.size()));
    if (first) {
      out.leaders.push_back(task);
      out.placement.hosts.push_back({task.node_name, slots_unlimited});
    }
    out.placement.node_of_rank.push_back(at->second);
  }
  out.placement.node_count = static_cast<int>(out.leaders.size());
  return out;
}

// The agents are tasks of Slurm already: they are given their tickets. The head's own node has one that is the head's child.
class PmiLauncher final : public Launcher {
 public:
  // `told`: all tasks have been given what they wait for.
  PmiLauncher(os::EventLoop& loop, Pmi& pmi, std::vector<Task> leaders, bool& told)
      : local_(make_launcher(loop, {}, [](const std::string&, const std::string&) {})), pmi_(pmi), leaders_(std::move(leaders)), told_(told) {}

  Result<> start(int number, const std::string& host, const AgentTicket& ticket) override {
    if (number == 0) return local_->start(number, host, ticket);
    const Task& leader = leaders_[static_cast<std::size_t>(number)];
    decltype(KeyPair::open) key;
    if (!unhex(leader.open_key, key)) return fail(fmt::format("host {}: its key is damaged", host));
    SealedTicket sealed;
    crypto_box_seal(sealed.data(), reinterpret_cast<const std::uint8_t*>(&ticket), sizeof ticket, key.data());
    return pmi_.put(ticket_name(leader.node), hex(sealed));
  }
  Result<> started_all() override {
    told_ = true;
    if (Result<> done = pmi_.fence(); !done) return done;
    return pmi_.finalize();
  }
  std::optional<Ended> on_child_ended(pid_t process, int status) override { return local_->on_child_ended(process, status); }
  void end_all() override { local_->end_all(); }
  void settle() override {}

 private:
  std::unique_ptr<Launcher> local_;
  Pmi& pmi_;
  std::vector<Task> leaders_;
  bool& told_;
};

int complain(const Error& error, int code = 1) {
  os::print_error("holdfast exec: {}\n", error.text);
  return code;
}

// The others must not wait for tickets that do not come.
int let_go(Pmi& pmi, int code) {
  if (Result<> done = pmi.fence(); !done) return complain(done.error());
  if (Result<> done = pmi.finalize(); !done) return complain(done.error());
  return code;
}

// A job that cannot be.
int refuse(Pmi& pmi, const std::string& text, int code) {
  os::print_error("holdfast: {}\n", text);
  return let_go(pmi, code);
}

int be_head(Pmi& pmi, const Words& arguments) {
  auto tasks = all_tasks(pmi);
  auto nodes = tasks ? nodes_of(*tasks) : std::unexpected(tasks.error());
  if (!nodes) return refuse(pmi, nodes.error().text, 1);
  auto options = parse_run(arguments, own_environment(), own_directory(), nodes->placement);
  if (!options) return refuse(pmi, options.error().text, options.error().exit_code);
  if (!options->answer.empty()) return refuse(pmi, "the ranks are srun's tasks: ':' is for holdfast run", 2);  // --help stood behind one
  if (Result<> tried = try_files(*options); !tried) return refuse(pmi, tried.error().text, 2);
  options->launch.kind = LaunchOptions::Kind::given;
  options->launch.one_machine = nodes->leaders.size() == 1;
  bool told = false;
  options->launch.make = [&](os::EventLoop& loop) -> std::unique_ptr<Launcher> {
    return std::make_unique<PmiLauncher>(loop, pmi, nodes->leaders, told);
  };
  Result<HeadSeat> seat = make_head_seat(options->launch, options->hosts);
  if (!seat) return refuse(pmi, seat.error().text, 1);
  Head head(std::move(*options), std::move(*seat));
  const int code = head.run();
  return told ? code : let_go(pmi, code);
}

int be_agent(Pmi& pmi, int node, const KeyPair& keys) {
  Result<std::string> text = pmi.get(ticket_name(node));
  if (!text) return complain(text.error());
  if (Result<> done = pmi.finalize(); !done) return complain(done.error());
  if (text->empty()) return 0;  // the head has said why
  SealedTicket sealed;
  AgentTicket ticket;
  if (!unhex(*text, sealed) || crypto_box_seal_open(reinterpret_cast<std::uint8_t*>(&ticket), sealed.data(), sealed.size(),
                                                    keys.open.data(), keys.secret.data()) != 0) {
    return complain({Lost::job, "the ticket of this node is damaged, or holdfast here is of another build than on the first node"});
  }
  if (ticket.build != own_build()) return complain({Lost::job, "holdfast here is of another build than on the first node"});
  if (!plausible(ticket)) return complain({Lost::job, "the ticket of this node is damaged"});
  Agent agent(ticket);
  return agent.run(false);
}

// Its own ranks are the agent's: what is left for this task is to be there until they have ended.
int wait_for_leader(Pmi& pmi, int node) {
  Result<std::string> text = pmi.get(leader_name(node));
  if (!text) return complain(text.error());
  if (Result<> done = pmi.finalize(); !done) return complain(done.error());
  Result<os::UniqueFd> pidfd = os::open_pidfd(std::atoi(text->c_str()));
  if (!pidfd) return 0;  // has ended already
  pollfd ended{pidfd->get(), POLLIN, 0};
  while (::poll(&ended, 1, -1) < 0 && errno == EINTR) continue;
  return 0;
}

int be_task(Pmi& pmi, const Words& arguments, const KeyPair& keys) {
  Result<Task> own = own_task(arguments, keys);
  if (!own) return complain(own.error(), 2);
  const bool leads = own->local == 0;
  Result<> told = pmi.put(fmt::format("holdfast-task-{}", pmi.rank()), to_text(*own));
  if (told && leads) told = pmi.put(leader_name(own->node), std::to_string(own->process));
  if (told) told = pmi.fence();
  if (!told) return complain(told.error());
  if (pmi.rank() == 0) return be_head(pmi, arguments);
  // Slurm sends its signals to all tasks: the head decides how the job ends.
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
  if (Result<> fence = pmi.fence(); !fence) return complain(fence.error());
  return leads ? be_agent(pmi, own->node, keys) : wait_for_leader(pmi, own->node);
}

}  // namespace

int exec_main(const Words& arguments) {
  if (::sodium_init() < 0) return 1;
  const char* rank = std::getenv("SLURM_PROCID");
  const bool first = !rank || std::string_view(rank) == "0";  // says it for all tasks
  if (const std::string answer = answer_of(arguments); !answer.empty()) {
    if (first) os::write_output(answer);
    return 0;
  }
  os::use_all_cores();  // Slurm binds each task by itself, but a node's ranks are the agent's children
  Result<Pmi> pmi = Pmi::join();
  if (!pmi) {
    return first ? complain(pmi.error(), 2) : 2;
  }
  KeyPair keys;
  crypto_box_keypair(keys.open.data(), keys.secret.data());
  return be_task(*pmi, arguments, keys);
}

}  // namespace hf::daemon
