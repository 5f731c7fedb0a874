// `holdfast attach` and `holdfast logs`.
#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "daemon/client_app.hpp"
#include "daemon/client_commands.hpp"
#include "daemon/clients/job_socket.hpp"
#include "daemon/input_reader.hpp"
#include "daemon/job_names.hpp"
#include "daemon/output_show.hpp"
#include "os/print.hpp"
#include "os/process.hpp"

namespace hf::daemon {
namespace {

struct Wishes {
  bool from_start = false;
  bool input = false;     // this process's stdin is the job's
  bool attached = false;  // attach: the job's exit code is ours, and what was shown need not be shown to the next
};

Json attach_request(const Wishes& wishes) {
  return {{"request", "attach"}, {"terminal", ::isatty(STDOUT_FILENO) != 0}, {"input", wishes.input}};
}

// Follows a job until it ends, or a signal.
class Follower {
 public:
  Follower(std::string id, JobClient client, KeptJob job, std::uint64_t position, Wishes wishes)
      : id_(std::move(id)),
        client_(std::move(client)),
        job_(std::move(job)),
        wishes_(wishes),
        show_(loop_, job_, position,
              {[this] { on_shown(); }, [this] { stop(128 + SIGPIPE); }, [this](const Error& error) { say(error.text), stop(1); }}),
        input_(loop_, [this](Bytes bytes) { on_input(bytes); }) {}

  int run() {
    ::signal(SIGPIPE, SIG_IGN);
    Result<os::UniqueFd> signals = os::catch_signals({SIGINT, SIGTERM, SIGHUP});
    if (!signals) return say(signals.error().text), 1;
    loop_.add(signals->get(), EPOLLIN, [&](std::uint32_t) { on_signal(signals->get()); });
    listen_to_job();
    if (wishes_.input) input_.start();
    show_.more();
    if (!code_) loop_.run();
    if (!ended_) send_read();
    return *code_;
  }

 private:
  void say(const std::string& text) { os::print_error("holdfast: {}\n", text); }
  void stop(int code) {
    if (!code_) code_ = code;
    loop_.stop();
  }
  void on_signal(int fd) {
    signalfd_siginfo info;
    if (::read(fd, &info, sizeof info) != sizeof info) return;
    if (wishes_.attached) say(fmt::format("detached from job {0}, which goes on (holdfast attach {0})", id_));
    stop(128 + static_cast<int>(info.ssi_signo));
  }
  void on_lines() {
    for (;;) {
      auto line = client_.next();
      if (!line) {
        say(line.error().text);
        return stop(1);
      }
      if (!*line) break;
      if (!(*line)->contains("event")) on_answer(**line);
      else if (!ended_) show_.more();
    }
    if (!client_.ended() || ended_) return;
    loop_.remove(client_.fd());
    if (turn_to_next_head()) return;
    ended_ = true;
    input_.stop();
    show_.more();
  }
  void listen_to_job() {
    loop_.add(client_.fd(), EPOLLIN, [this](std::uint32_t) { on_lines(); });
  }
  // A head that ends its job takes the name away before; where it is still there, another one goes on for a head that was killed.
  bool turn_to_next_head() {
    Result<os::UniqueFd> connection = connect_job(id_);
    if (!connection) return false;
    client_ = JobClient(std::move(*connection));
    listen_to_job();
    std::size_t lost = 0;
    for (const Asked& asked : std::exchange(asked_, {})) lost += asked.bytes;
    if (lost > 0) say(fmt::format("{} bytes of input may be lost with the head, which was killed", lost));
    if (lost > 0) input_.on_taken(lost);
    input_waits_ = false;
    told_ = 0;
    ask(attach_request(wishes_), 0);
    send_input();
    show_.more();
    return true;
  }
  // Everything that there was is shown.
  void on_shown() {
    if (!ended_) return tell_read();
    std::optional<Json> record = job_.read_record();
    auto code = record ? number_member(*record, "exit_code") : std::nullopt;
    if (!code) {
      say(fmt::format("the head of job {} was killed, and the job has ended with it", id_));
      return stop(1);
    }
    stop(wishes_.attached ? static_cast<int>(*code) : 0);
  }

  // One is on its way at a time: a head that waits for room in rank 0's input answers late.
  void tell_read() {
    if (std::ranges::all_of(asked_, &Asked::input)) send_read();
  }
  void send_read() {
    if (!wishes_.attached || told_ == show_.position()) return;
    told_ = show_.position();
    ask({{"request", "read"}, {"position", told_}}, 0);
  }
  // One piece of input is on its way at a time: a job whose rank 0 does not read its input answers late.
  void on_input(Bytes bytes) {
    if (bytes.empty()) input_over_ = true;
    else pending_ += text_of(bytes);
    send_input();
  }
  void send_input() {
    if (input_waits_ || (pending_.empty() && !std::exchange(input_over_, false))) return;
    const std::string piece = pending_.substr(0, piece_bytes);
    pending_.erase(0, piece.size());
    input_waits_ = true;
    if (piece.empty()) ask({{"request", "input"}, {"end", true}}, 0);
    else ask({{"request", "input"}, {"data", to_base64(piece)}}, piece.size());
  }
  void ask(const Json& request, std::size_t input_bytes) {
    if (Result<> sent = client_.send(request); !sent) return;  // its end is seen where lines are read
    asked_.push_back({text_member(request, "request") == "input", input_bytes});
  }
  void on_answer(const Json& answer) {
    if (asked_.empty()) return;
    const Asked asked = asked_.front();
    asked_.pop_front();
    if (!asked.input) return tell_read();
    input_waits_ = false;
    if (auto error = text_member(answer, "error")) {
      if (asked.bytes > 0) say(*error);
      return input_.stop();
    }
    input_.on_taken(asked.bytes);
    send_input();
  }

  struct Asked {
    bool input = false;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t piece_bytes = 32 * 1024;  // in base64 less than a request may be long

  std::string id_;
  JobClient client_;
  KeptJob job_;
  Wishes wishes_;
  os::EventLoop loop_;
  OutputShow show_;
  InputReader input_;
  std::string pending_;
  bool input_waits_ = false, input_over_ = false, ended_ = false;
  std::deque<Asked> asked_;
  std::uint64_t told_ = 0;
  std::optional<int> code_;
};

Result<int> follow(ChosenJob job, const Wishes& wishes) {
  Result<Json> answer = job.client->ask(attach_request(wishes));
  if (!answer) return std::unexpected(answer.error());
  Result<KeptJob> kept = open_kept_job(text_member(*answer, "kept").value_or(""));
  if (!kept) return std::unexpected(kept.error());
  const std::uint64_t position = wishes.from_start ? 0 : number_member(*answer, "read").value_or(0);
  return Follower(job.id, std::move(*job.client), std::move(*kept), position, wishes).run();
}

Result<int> show_kept(const KeptRecord& kept) {
  Result<KeptJob> job = open_kept_job(kept.path);
  if (!job) return std::unexpected(job.error());
  ::signal(SIGPIPE, SIG_IGN);
  os::EventLoop loop;
  Result<int> code = 0;
  OutputShow show(loop, *job, 0,
                  {[&] { loop.stop(); },
                   [&] {
                     code = 128 + SIGPIPE;
                     loop.stop();
                   },
                   [&](const Error& error) {
                     code = std::unexpected(error);
                     loop.stop();
                   }});
  show.more();
  loop.run();
  return code;
}

constexpr const char* job_help = "its id, or the beginning of it; none: the only one that runs";

}  // namespace

int attach_main(const std::vector<std::string>& arguments) {
  CLI::App app("Shows the output of a job of --detach from where the last one stopped who was attached, and gives it this standard input. "
               "Ctrl-C leaves it alone again. The exit code is the job's, when it ends meanwhile.",
               "holdfast attach");
  std::string name;
  Wishes wishes{.input = true, .attached = true};
  bool no_input = false;
  app.add_option("JOB", name, job_help);
  app.add_flag("--from-start", wishes.from_start, "show all output that is kept");
  app.add_flag("--no-input", no_input, "give the job no input, and do not end it either");
  if (auto code = parse_client(app, arguments)) return *code;
  wishes.input = !no_input;
  Result<ChosenJob> job = choose_running(name);
  if (!job) return complain(app, job.error().text);
  Result<int> code = follow(std::move(*job), wishes);
  return code ? *code : complain(app, code.error().text);
}

int logs_main(const std::vector<std::string>& arguments) {
  CLI::App app("Prints the output of a job of --detach that is kept, also when the job has ended.", "holdfast logs");
  std::string name;
  bool further = false;
  app.add_option("JOB", name, job_help);
  app.add_flag("-f,--follow", further, "go on until the job ends");
  if (auto code = parse_client(app, arguments)) return *code;
  Result<ChosenJob> job = choose_any(name);
  if (!job) return complain(app, job.error().text);
  if (!job->kept && !further) {
    return complain(app, fmt::format("job {} was not started with --detach: its output goes to its own terminal", job->id));
  }
  Result<int> code = job->client && further ? follow(std::move(*job), {.from_start = true}) : show_kept(*job->kept);
  return code ? *code : complain(app, code.error().text);
}

}  // namespace hf::daemon
