// `holdfast top [JOB]`.
#include "daemon/watch/top_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "daemon/clients/job_client.hpp"
#include "daemon/clients/job_socket.hpp"
#include "daemon/watch/screen.hpp"
#include "daemon/watch/top_view.hpp"
#include "daemon/watch/watch_answer.hpp"
#include "os/clock.hpp"

namespace hf::daemon {
namespace {

constexpr const char* usage =
    "holdfast top [--once] [-d SECONDS] [-s ORDER] [JOB]   the ranks of a running job: what they do, send and wait for\n"
    "  --once       print one table and end; so it is where there is no terminal\n"
    "  -d SECONDS   how often to look (1)\n"
    "  -s ORDER     rank, node, state, restarts, sent, received, log or waits\n"
    "Keys: q quits, s takes the next order, arrows and page keys scroll. JOB: its id, or how that begins; not needed for the only one.\n";
constexpr std::int64_t rates_within_ns = 5 * os::second_ns;  // --once waits so long for two samples of every node

struct TopOptions {
  bool once = false, help = false;
  std::string job;
  WatchRequest request;
};

Result<TopOptions> parse(const std::vector<std::string>& words) {
  TopOptions out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--once") out.once = true;
    else if (word == "--help" || word == "-h") out.help = true;
    else if (word == "-d" || word == "-s") {
      if (++i == words.size()) return fail(fmt::format("option {} needs a value", word));
      const std::string& value = words[i];
      if (word == "-s") {
        const auto found = std::ranges::find(rank_orders, value);
        if (found == rank_orders.end()) return fail(fmt::format("-s {}: one of {}", value, fmt::join(rank_orders, ", ")));
        out.request.order = static_cast<RankOrder>(found - rank_orders.begin());
        continue;
      }
      double seconds = 0;
      const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), seconds);
      if (code != std::errc() || end != value.data() + value.size() || !(seconds >= 0.1 && seconds <= 60)) {
        return fail(fmt::format("-d {}: seconds, from 0.1 to 60", value));
      }
      out.request.period_ms = static_cast<std::int64_t>(seconds * 1000);
    } else if (word.starts_with("-")) return fail(fmt::format("unknown option {} (see holdfast top --help)", word));
    else if (!out.job.empty()) return fail("holdfast top takes one job");
    else out.job = word;
  }
  return out;
}

Result<TopView> ask(JobClient& client, const WatchRequest& request) {
  Result<Json> answer = client.ask(watch_request(request));
  if (!answer) return std::unexpected(answer.error());
  return read_top(*answer);
}

int complain(const std::string& text, int code = 1) {
  fmt::print(stderr, "holdfast: {}\n", text);
  return code;
}

// All ranks, once there are rates of all.
int print_once(JobClient& client, WatchRequest request) {
  request.count = INT32_MAX;
  request.period_ms = std::min<std::int64_t>(request.period_ms, 500);
  const Instant since = os::now();
  Result<TopView> view = ask(client, request);
  while (view && view->samples < 2 && os::now().value - since.value < rates_within_ns) {
    ::usleep(50'000);
    view = ask(client, request);
  }
  if (!view) return complain(view.error().text);
  for (const std::string& line : top_head(*view)) fmt::print("{}\n", line);
  fmt::print("\n{}\n", top_columns());
  for (const TopRow& row : view->rows) fmt::print("{}\n", top_line(row));
  return std::fflush(stdout) == 0 ? 0 : complain(fmt::format("cannot write: {}", std::strerror(errno)));
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

int show_live(JobClient& client, const WatchRequest& request) {
  Result<std::unique_ptr<Screen>> screen = Screen::open();
  if (!screen) return complain(screen.error().text);
  Table table(**screen, client, request);
  int code = 0;
  std::string last_words;
  for (;;) {
    if (Result<> shown = table.show(); !shown) {
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
  return last_words.empty() ? code : complain(last_words, code);
}

Result<os::UniqueFd> find_job(const std::string& wanted) {
  auto jobs = find_running_jobs();
  if (!jobs) return std::unexpected(jobs.error());
  std::erase_if(*jobs, [&](const RunningJob& job) { return !job.id.starts_with(wanted); });
  if (jobs->size() == 1) return std::move(jobs->front().connection);
  if (jobs->empty() && wanted.empty()) return fail("no job of yours is running");
  if (jobs->empty()) return fail(fmt::format("no job of yours that is running begins with {}", wanted));
  std::vector<std::string> ids;
  for (const RunningJob& job : *jobs) ids.push_back(job.id);
  return fail(fmt::format("which job? {}", fmt::join(ids, " ")));
}

}  // namespace

int top_main(const std::vector<std::string>& arguments) {
  Result<TopOptions> options = parse(arguments);
  if (!options) return complain(options.error().text, 2);
  if (options->help) return fmt::print("{}", usage), 0;
  Result<os::UniqueFd> connection = find_job(options->job);
  if (!connection) return complain(connection.error().text, 2);
  JobClient client(std::move(*connection));
  if (options->once || ::isatty(STDOUT_FILENO) == 0 || ::isatty(STDIN_FILENO) == 0) return print_once(client, options->request);
  return show_live(client, options->request);
}

}  // namespace hf::daemon
