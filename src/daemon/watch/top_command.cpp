// `holdfast top [JOB]`.
#include "daemon/watch/top_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/client_app.hpp"
#include "daemon/clients/job_socket.hpp"
#include "daemon/job_names.hpp"
#include "daemon/watch/screen.hpp"
#include "daemon/watch/top_view.hpp"
#include "daemon/watch/watch_answer.hpp"
#include "os/clock.hpp"
#include "os/print.hpp"

namespace hf::daemon {
namespace {

constexpr std::int64_t rates_within_ns = 5 * os::second_ns;  // --once waits so long for two samples of every node

Result<TopView> ask(JobClient& client, const WatchRequest& request) {
  Result<Json> answer = client.ask(watch_request(request));
  if (!answer) return std::unexpected(answer.error());
  return read_top(*answer);
}

// All ranks, once there are rates of all.
int print_once(const CLI::App& app, JobClient& client, WatchRequest request) {
  request.count = INT32_MAX;
  request.period_ms = std::min<std::int64_t>(request.period_ms, 500);
  const Instant since = os::now();
  Result<TopView> view = ask(client, request);
  while (view && view->samples < 2 && os::now().value - since.value < rates_within_ns) {
    ::usleep(50'000);
    view = ask(client, request);
  }
  if (!view) return complain(app, view.error().text);
  for (const std::string& line : top_head(*view)) os::print_output("{}\n", line);
  os::print_output("\n{}\n", top_columns());
  for (const TopRow& row : view->rows) os::print_output("{}\n", top_line(row));
  return 0;
}

// The table as it is scrolled; only the rows that are seen are asked for.
class Table {
 public:
  Table(Screen& screen, JobClient& client, WatchRequest request) : screen_(screen), client_(client), request_(request) {}

  Result<> show() {
    request_.count = rows();
    Result<TopView> view = ask(client_, request_);
    if (!view) return std::unexpected(view.error());
    ranks_ = static_cast<int>(std::min<std::uint64_t>(view->ranks, INT32_MAX));
    if (request_.first > last_first()) {  // the window has grown
      request_.first = last_first();
      return show();
    }
    std::vector<Screen::Line> lines;
    for (std::string& line : top_head(*view)) lines.push_back({std::move(line)});
    lines.push_back({top_columns(), true});
    for (const TopRow& row : view->rows) lines.push_back({top_line(row)});
    lines.resize(static_cast<std::size_t>(std::max(screen_.height() - 1, 0)));
    lines.push_back({fmt::format("{}-{} of {} by {}; keys: q s arrows page", ranks_ > 0 ? request_.first + 1 : 0,
                                 request_.first + static_cast<int>(view->rows.size()), ranks_,
                                 rank_orders[static_cast<std::size_t>(request_.order)])});
    screen_.draw(lines);
    return {};
  }
  void on_key(Screen::Key key) {
    if (key == Screen::Key::sort) {
      request_.order = static_cast<RankOrder>((static_cast<std::size_t>(request_.order) + 1) % rank_orders.size());
      request_.first = 0;
    }
    const int page = std::max(rows() - 1, 1);
    int to = request_.first;
    if (key == Screen::Key::up) --to;
    if (key == Screen::Key::down) ++to;
    if (key == Screen::Key::page_up) to -= page;
    if (key == Screen::Key::page_down) to += page;
    if (key == Screen::Key::first) to = 0;
    if (key == Screen::Key::last) to = last_first();
    request_.first = std::clamp(to, 0, last_first());
  }

 private:
  int rows() const { return std::max(screen_.height() - static_cast<int>(top_head_lines) - 2, 1); }
  int last_first() const { return std::max(0, ranks_ - rows()); }
  Screen& screen_;
  JobClient& client_;
  WatchRequest request_;
  int ranks_ = 0;
};

// A name that is still there has another head behind it, which goes on for one that was killed.
bool turn_to_next_head(JobClient& client, const std::string& id) {
  if (!client.ended()) return false;
  Result<os::UniqueFd> connection = connect_job(id);
  if (!connection) return false;
  client = JobClient(std::move(*connection));
  return true;
}

int show_live(const CLI::App& app, ChosenJob& job, const WatchRequest& request) {
  JobClient& client = *job.client;
  Result<std::unique_ptr<Screen>> screen = Screen::open();
  if (!screen) return complain(app, screen.error().text);
  Table table(**screen, client, request);
  int code = 0;
  std::string last_words;
  for (;;) {
    if (Result<> shown = table.show(); !shown) {
      if (turn_to_next_head(client, job.id)) continue;
      last_words = client.ended() ? "the job has ended" : shown.error().text;
      code = client.ended() ? 0 : 1;
      break;
    }
    const Screen::Key key = (*screen)->wait(static_cast<int>(request.period_ms));
    if (key == Screen::Key::quit) {
      code = (*screen)->ended_by() == 0 ? 0 : 128 + (*screen)->ended_by();
      break;
    }
    table.on_key(key);
  }
  screen->reset();  // before anything is written
  if (!last_words.empty()) complain(app, last_words);
  return code;
}

}  // namespace

int top_main(const std::vector<std::string>& arguments) {
  CLI::App app("The ranks of a running job: where they are, what they send, what they wait for.", "holdfast top");
  app.footer("Keys: q quits, s takes the next order, arrows and page keys scroll.");
  bool once = false;
  double seconds = 1;
  std::string order = "rank", wanted;
  app.add_flag("--once", once, "print one table and end; so it is where there is no terminal");
  app.add_option("-d,--delay", seconds, "how often to look, in seconds (default 1)")->check(CLI::Range(0.1, 60.0));
  app.add_option("-s,--sort", order, fmt::format("{} (default rank)", fmt::join(rank_orders, ", ")));
  app.add_option("job", wanted, "its id, or how that begins; not needed for the only one");
  if (auto code = parse_client(app, arguments)) return *code;
  const auto found = std::ranges::find(rank_orders, order);
  if (found == rank_orders.end()) return complain(app, fmt::format("--sort {}: one of {}", order, fmt::join(rank_orders, ", "))), 2;
  Result<ChosenJob> job = choose_running(wanted);
  if (!job) return complain(app, job.error().text);
  WatchRequest request;
  request.order = static_cast<RankOrder>(found - rank_orders.begin());
  request.period_ms = static_cast<std::int64_t>(seconds * 1000);
  if (once || ::isatty(STDOUT_FILENO) == 0 || ::isatty(STDIN_FILENO) == 0) return print_once(app, *job->client, request);
  return show_live(app, *job, request);
}

}  // namespace hf::daemon
