#include "daemon/options.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "core/collectives/choice.hpp"
#include "daemon/clients/kept_output.hpp"
#include "daemon/collective_rules.hpp"
#include "daemon/paths.hpp"
#include "daemon/placement_options.hpp"
#include "daemon/recorder_preload.hpp"
#include "daemon/tree_options.hpp"
#include "os/memory_file.hpp"
#include "os/process.hpp"

namespace hf::daemon {
namespace {

using Words = std::vector<std::string>;

constexpr int spares_max = 256, event_loggers_max = 256;
constexpr int restarts_by_default = 20, restarts_most = 10'000;
constexpr std::uint64_t eager_bytes_min = 1 << 10, eager_bytes_max = 64 << 20;

// Options of one program (between ':'), and those of the whole job, which may stand anywhere.
struct Section {
  std::optional<int> count;
  std::string directory;
  Words exported, set_here;
};
struct Whole {
  Words set_everywhere;
  PlacementOptions placement;
  std::string protocol, level, event_directory, on_divergence = "end", large_messages = "auto", record_libc = "yes", order_threads = "asked";
  std::string log_memory, log_disk, log_ready = "32M", log_directory, eager_limit;
  std::optional<int> restarts;
  int spares = 0, event_loggers = 0, event_copies = 1;
  TreeWords tree;
  std::string event_memory = "1G";
  std::optional<std::string> on_node_loss;
  Words inject, collective;
  std::string report, trace, metrics, collectives;
  std::string output_limit;
  bool no_sender_log = false;
  bool detach = false, label = false, verbose = false, version = false, help = false;
  Words ignored_flags;
};

// What mpirun's users type with one dash although it is a word.
constexpr const char* one_dash_words[] = {
    "np",    "genv",         "env",     "ppn",    "wdir",          "wd",      "mca",      "hostfile", "machinefile", "hosts",
    "host",  "label",        "bind-to", "map-by", "oversubscribe", "genvall", "genvlist", "perhost",  "launcher",    "launcher-exec",
    "help",  "prepend-rank", "version", "verbose", "report-bindings"};

struct Habit {
  const char* name;
  int arguments;
};
constexpr Habit without_effect[] = {{"--allow-run-as-root", 0}, {"--mca", 2},        {"--genvall", 0},
                                    {"--rank-by", 1},           {"--tag-output", 0}, {"--use-hwthread-cpus", 0}};
constexpr const char* not_yet[] = {"--genvlist"};

// May be given any number of times, each time with so many values.
void repeatable(CLI::Option* option, int values = 1) {
  option->type_size(values)->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
}

void declare_section(CLI::App& app, Section& section) {
  app.add_option("-n,--np,-c", section.count, "number of ranks of this program (without it: as many as the hosts that are named have slots, else 1)");
  app.add_option("--wdir,--wd", section.directory, "working directory");
  repeatable(app.add_option("-x", section.exported, "VAR or VAR=VALUE: environment variable for the ranks"));
  repeatable(app.add_option("--env", section.set_here, "-env VAR VALUE: for this program"), 2);
}

void declare_whole(CLI::App& app, Whole& whole) {
  repeatable(app.add_option("--genv", whole.set_everywhere, "-genv VAR VALUE: for all programs"), 2);
  declare(app, whole.placement);
  app.add_option("--protocol", whole.protocol, "none, pessimist (default) or optimist: what survives the death of a rank, and whether messages wait for that");
  app.add_option("--spares", whole.spares, "so many more nodes without ranks, which take over those of a node that is lost");
  app.add_option("--event-loggers", whole.event_loggers,
                 "so many more nodes without ranks, which hold the others' determinants and do nothing else (default: nodes hold each other's)");
  app.add_option("--event-copies", whole.event_copies, "so many other nodes have a determinant before it counts as kept (default 1)");
  app.add_option("--on-node-loss", whole.on_node_loss,
                 "spread (default): the ranks of a lost node start again on a spare one, or spread over the others; spare: only on a spare one; end");
  declare(app, whole.tree);
  app.add_option("--log-level", whole.level,
                 "process, node (default with several nodes), disk, or several as in node+disk: what determinants survive before a message "
                 "that depends on them leaves; process+node: only output waits for what comes behind the +");
  app.add_option("--event-dir", whole.event_directory,
                 "where determinants are kept at --log-level disk, shared by all nodes (default: as --log-dir)");
  app.add_flag("--no-sender-log", whole.no_sender_log,
               "determinants are logged and payloads are not: for measurements, nothing is recovered");
  app.add_option("--event-memory", whole.event_memory, "what a node holds of other nodes' determinants at most (default 1G)");
  app.add_option("--log-memory", whole.log_memory,
                 "memory for a rank's message log, as in 512M (default: 1/8 of all "
                 "memory, shared by the ranks)");
  app.add_option("--log-ready", whole.log_ready, "of it, made ready when the rank starts (default 32M): sending is slower past it");
  app.add_option("--log-disk", whole.log_disk, "disk for a rank's message log beyond that (default: what is free)");
  app.add_option("--log-dir", whole.log_directory, "where that is (default: $TMPDIR or /var/tmp)");
  app.add_option("--large-messages", whole.large_messages,
                 "auto (default: what is faster here), direct or copied: whether a receiver on the same node reads the sender's memory");
  app.add_option("--eager-limit", whole.eager_limit,
                 "between nodes, larger messages are announced first and sent when they are received (default 1M; 256K where ranks share "
                 "cores and nothing is logged)");
  repeatable(app.add_option("--collective", whole.collective, "NAME=ALGORITHM: the one that all calls of a collective take"));
  app.add_option("--collectives", whole.collectives, "a table of algorithms by nodes, ranks and bytes, as bench/run.py --tune writes");
  app.add_option("--restarts", whole.restarts, "restarts of a rank before the job is ended (default 20)");
  app.add_option("--on-divergence", whole.on_divergence, "end (default) or warn: when a replay differs from the log");
  app.add_option("--record-libc", whole.record_libc,
                 "yes (default) or no: clocks, random numbers and process ids say the same to a rank that starts again");
  app.add_option("--order-threads", whole.order_threads,
                 "asked (default): of programs that ask for MPI_THREAD_SERIALIZED; always: the order in which threads take locks and pieces "
                 "of OpenMP's loops is recorded");
  repeatable(app.add_option("--inject", whole.inject,
                            "faults on purpose: kill:rank=R,at=1.5s  kill:rank=R,call=N  kill:rank=R,point=NAME:N  "
                            "kill:random,rate=4/s,seed=S,max=K  head,at=1s"));
  app.add_flag("--detach", whole.detach, "run in the background: prints the job's id and returns (holdfast ps, attach, logs, kill)");
  app.add_option("--output-limit", whole.output_limit, "of its output, with --detach, so much is kept (default 64M), and the oldest dropped");
  app.add_option("--report", whole.report, "write a report of failures and recoveries as JSON");
  app.add_option("--trace", whole.trace, "write the timeline in the Chrome/Perfetto trace format");
  app.add_option("--metrics", whole.metrics, "serve metrics for Prometheus at ADDRESS:PORT or, on this machine alone, :PORT (0: any)");
  app.add_flag("--label,-l,--prepend-rank", whole.label, "begin each line of output with [rank]");
  app.add_flag("-v,--verbose", whole.verbose, "say what happens");
  app.add_flag("--version,-V", whole.version, "print the version");
  app.add_flag("--help,-h", whole.help, "print this");
  for (const Habit& habit : without_effect) {
    std::string name = habit.name;
    auto seen = [&whole, name](auto&&) {
      whole.ignored_flags.push_back(name);
      return true;
    };
    if (habit.arguments == 0) {
      app.add_flag_callback(
          name, [seen] { seen(0); }, "accepted, without effect");
    } else {
      repeatable(app.add_option(name, CLI::callback_t(seen), "accepted, without effect"), habit.arguments);
    }
  }
  for (const char* name : not_yet) {
    std::string text = name;
    app.add_option(
        name, CLI::callback_t([text](const CLI::results_t&) -> bool {
          throw CLI::ValidationError(fmt::format("{} is not supported yet", text));
        }),
        "not supported yet");
  }
}

// Instead of what CLI11 says when it cannot convert a value.
std::string why_no_number(const std::string& text) {
  int number = 0;
  if (CLI::detail::lexical_cast(text, number)) return {};
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return digits ? fmt::format("{} is too large", text) : fmt::format("a whole number is wanted, not '{}'", text);
}

std::unique_ptr<CLI::App> make_app(Section& section, Whole& whole) {
  auto app = std::make_unique<CLI::App>("Runs an MPI program whose ranks survive being killed.", "holdfast run");
  app->set_help_flag();
  declare_section(*app, section);
  declare_whole(*app, whole);
  for (CLI::Option* option : app->get_options()) {
    if (option->get_type_name() == "INT") option->check(why_no_number);
  }
  return app;
}

std::unexpected<UsageError> usage(std::string text, int code = 2) {
  return std::unexpected(UsageError{code, std::move(text)});
}

// One word of options as CLI11 wants it; the option it names, or null.
CLI::Option* normalize(CLI::App& app, std::string& word) {
  if (word.starts_with("--")) {
    std::size_t equals = word.find('=');
    return app.get_option_no_throw(word.substr(0, equals));
  }
  std::string name = word.substr(1);
  if (std::ranges::find(one_dash_words, name) != std::end(one_dash_words)) {
    word = "--" + name;
    return app.get_option_no_throw(word);
  }
  CLI::Option* option = app.get_option_no_throw(word.substr(0, 2));  // -n4 too
  const bool flags = option && option->get_items_expected_max() == 0;  // -lv too
  for (std::size_t i = 2; flags && i < word.size(); ++i) {
    const CLI::Option* next = app.get_option_no_throw(std::string{'-', word[i]});
    if (!next || next->get_items_expected_max() != 0) return nullptr;
  }
  return option;
}

// Splits the words from `at` into options and, from the first word that is none, program and arguments up to ':'.
std::expected<void, UsageError> split(CLI::App& app, const Words& words, std::size_t& at, Words& options,
                                      Words& program) {
  while (at < words.size() && words[at].size() > 1 && words[at][0] == '-') {
    std::string word = words[at++];
    if (word == "--") break;
    CLI::Option* option = normalize(app, word);
    if (!option) return usage(fmt::format("unknown option {} (see holdfast run --help)", words[at - 1]));
    bool attached = word.starts_with("--") ? word.find('=') != std::string::npos : word.size() > 2;
    int wanted = std::max(0, option->get_items_expected_min() - (attached ? 1 : 0));
    if (wanted > 0 && at + static_cast<std::size_t>(wanted) > words.size()) {
      return usage(fmt::format("option {} needs {}", words[at - 1], wanted == 1 ? "a value" : "two values"));
    }
    // A single value is attached, so that one which begins with a dash is not taken for an option.
    if (wanted == 1 && !attached) word += (word.starts_with("--") ? "=" : "") + words[at++];
    options.push_back(word);
    for (int i = 0; i < wanted && wanted > 1; ++i) options.push_back(words[at++]);
  }
  while (at < words.size() && words[at] != ":") program.push_back(words[at++]);
  return {};
}

// What stands from `at` on, up to ':'. The answer to --help or --version; empty: neither is among its options.
std::expected<std::string, UsageError> parse_section(const Words& words, std::size_t& at, Section& section, Whole& whole, Words& program) {
  Words options;
  auto app = make_app(section, whole);
  if (auto done = split(*app, words, at, options, program); !done) return std::unexpected(done.error());
  std::ranges::reverse(options);
  try {
    app->parse(options);
  } catch (const CLI::Error& error) {
    return usage(error.what());
  }
  return whole.help ? app->help() : whole.version ? fmt::format("holdfast {}\n", HOLDFAST_VERSION) : "";
}

std::string lookup(const Words& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  }
  return {};
}

void set(Words& environment, const std::string& name, const std::string& value) {
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name + "="); });
  environment.push_back(name + "=" + value);
}

// malloc of glibc 2.35 or newer then takes huge pages where the system gives them on request. The kernel frees a dead process in
// small pages for 70 ms per GiB before anyone hears of the death, in huge ones for 1. (GNU C Library manual, Memory Allocation
// Tunables.)
void ask_for_huge_pages(Words& environment) {
  const std::string tunables = lookup(environment, "GLIBC_TUNABLES");
  if (tunables.find("glibc.malloc.hugetlb") != std::string::npos) return;
  set(environment, "GLIBC_TUNABLES", tunables + (tunables.empty() ? "" : ":") + "glibc.malloc.hugetlb=1");
}

Words make_environment(const Words& inherited, const Section& section, const Whole& whole) {
  Words out = inherited;
  std::erase_if(out, [](const std::string& entry) {
    return entry.starts_with("HOLDFAST_AGENT=") || entry.starts_with("HOLDFAST_RANK=") || entry.starts_with("HOLDFAST_JOB_STARTED=") ||
           entry.starts_with("OMPI_COMM_WORLD_") || entry.starts_with("PMI_") || entry.starts_with("MPI_LOCALRANKID=") ||
           entry.starts_with("MPI_LOCALNRANKS=") || is_of_one_task(entry);
  });
  do_not_preload(out);  // what the rank preloads that has typed this command
  for (std::size_t i = 0; i + 1 < whole.set_everywhere.size(); i += 2)
    set(out, whole.set_everywhere[i], whole.set_everywhere[i + 1]);
  for (std::size_t i = 0; i + 1 < section.set_here.size(); i += 2)
    set(out, section.set_here[i], section.set_here[i + 1]);
  for (const std::string& entry : section.exported) {
    std::size_t equals = entry.find('=');  // without a value: the environment is passed on anyway
    if (equals != std::string::npos) set(out, entry.substr(0, equals), entry.substr(equals + 1));
  }
  // Hashes of strings differ between two starts of Python otherwise, and with them the order of sets.
  if (lookup(out, "PYTHONHASHSEED").empty()) set(out, "PYTHONHASHSEED", "0");
  ask_for_huge_pages(out);
  return out;
}

std::expected<Program, UsageError> make_program(const Section& section, const Whole& whole, const Words& words,
                                                const Words& environment, const std::string& directory) {
  if (words.empty()) return usage("which program? (holdfast run -n 4 ./program arguments)");
  Program out;
  out.count = section.count.value_or(1);
  if (out.count < 1) return usage(fmt::format("-n {}: a job needs at least one rank", out.count));
  if (out.count > job_ranks_max) return usage(fmt::format("-n {}: more than {} ranks are not supported", out.count, job_ranks_max));
  out.arguments = words;
  out.environment = make_environment(environment, section, whole);
  Result<std::string> given = absolute("--wdir", section.directory, directory);
  if (!given) return usage(given.error().text);
  out.working_directory = given->empty() ? directory : *given;
  std::string path = lookup(out.environment, "PATH");
  auto found = os::find_program(words[0], out.working_directory, path.empty() ? nullptr : path.c_str());
  if (!found) return usage(found.error().text, found.error().code == ENOENT ? 127 : 126);
  out.path = *found;
  return out;
}

std::expected<void, UsageError> fill_background(const Whole& whole, bool placed, RunOptions& out) {
  out.detach = whole.detach;
  if (whole.detach && placed) return usage("--detach: the ranks are srun's tasks, which end with it; it is for holdfast run");
  if (whole.output_limit.empty()) return {};
  if (!whole.detach) return usage("--output-limit: only the output of a job with --detach is kept");
  Result<std::uint64_t> size = parse_size(whole.output_limit);
  if (!size) return usage(fmt::format("--output-limit: {}", size.error().text));
  out.output_limit_bytes = *size;
  if (*size < output_limit_min) return usage(fmt::format("--output-limit {}: 1M or more", whole.output_limit));
  return {};
}

std::expected<void, UsageError> fill_copies(const Whole& whole, Job& job) {
  job.event_copies = whole.event_copies;
  if (job.event_copies < 1 || job.event_copies > event_copies_max) {
    return usage(fmt::format("--event-copies {}: 1 to {}", whole.event_copies, event_copies_max));
  }
  if (job.event_copies == 1) return {};
  if (!job.keeps_on_nodes()) return usage("--event-copies: needs several nodes, --log-level node and a protocol that logs");
  if (job.event_copies > job.agent_count() - 1) {
    return usage(fmt::format("--event-copies {}: needs {} nodes beside the one that they are of, and there are {} in all (--nodes, --spares, "
                             "--event-loggers)", job.event_copies, job.event_copies, job.agent_count()));
  }
  return {};
}

// "process+node": its words, each once.
bool parse_level(std::string_view text, bool& process, bool& node, bool& disk) {
  while (true) {
    const std::string_view word = text.substr(0, text.find('+'));
    bool* level = word == "process" ? &process : word == "node" ? &node : word == "disk" ? &disk : nullptr;
    if (!level || std::exchange(*level, true)) return false;
    if (word.size() == text.size()) return true;
    text.remove_prefix(word.size() + 1);
  }
}

// docs/events.md, Levels.
std::expected<void, UsageError> fill_level(const Whole& whole, Job& job) {
  const bool several = job.agent_count() > 1;
  bool process = whole.level.empty() && !several, node = whole.level.empty() && several, disk = false;
  if (!whole.level.empty() && !parse_level(whole.level, process, node, disk)) {
    return usage(fmt::format("--log-level {}: process, node, disk, or several of them as in node+disk", whole.level));
  }
  if (node && !several) {
    return usage(fmt::format("--log-level {}: needs a second node (--nodes, --spares, --event-loggers) to hold what must survive the first", whole.level));
  }
  if (disk && !several) {
    return usage(fmt::format("--log-level {}: needs a second node (--nodes, --spares) on which ranks can start again", whole.level));
  }
  if (!node && !disk && whole.spares > 0) {
    return usage("--spares: at --log-level process nothing outlives a node; leave the level out, or say node");
  }
  job.names_process = process && (node || disk);
  if (job.names_process && whole.protocol.empty()) job.protocol = wire::Protocol::optimist;
  if (job.names_process && job.protocol != wire::Protocol::optimist) {
    return usage(fmt::format("--log-level {}: messages that leave before what they depend on outlives their node need --protocol "
                             "optimist; leave out --protocol, or process+",
                             whole.level));
  }
  if (whole.event_loggers > 0 && !node) {
    return usage(fmt::format("--event-loggers: at --log-level {} no other node holds determinants; leave the level out, or say node",
                             process ? "process" : whole.level));
  }
  if (whole.event_loggers > 0 && job.protocol == wire::Protocol::none) return usage("--event-loggers: protocol none has no determinants");
  using wire::LogLevel;
  job.log_level = node && disk ? LogLevel::node_disk : disk ? LogLevel::disk : node ? LogLevel::node : LogLevel::process;
  if (!whole.event_directory.empty() && !job.keeps_on_disk()) return usage("--event-dir: only --log-level disk writes there");
  return {};
}

std::expected<void, UsageError> fill_nodes(const Whole& whole, Job& job) {
  if (const std::string on_loss = whole.on_node_loss.value_or("spread"); on_loss != "spread" && on_loss != "spare" && on_loss != "end") {
    return usage(fmt::format("--on-node-loss {}: spread, spare or end", on_loss));
  }
  Result<std::uint64_t> memory = parse_size(whole.event_memory);
  if (!memory) return usage(fmt::format("--event-memory: {}", memory.error().text));
  job.event_memory_bytes = *memory;
  return fill_copies(whole, job);
}

// Without the sender log nothing is recovered: whoever asks for recovery too has misunderstood one of the two.
std::expected<void, UsageError> fill_sender_log(const Whole& whole, Job& job) {
  job.sender_log = !whole.no_sender_log;
  if (job.sender_log) return {};
  const std::pair<bool, const char*> recovering[] = {{whole.spares > 0, "--spares"},
                                                     {whole.restarts.has_value(), "--restarts"},
                                                     {whole.on_node_loss.has_value(), "--on-node-loss"},
                                                     {whole.detach, "--detach"}};
  for (const auto& [given, option] : recovering) {
    if (given) return usage(fmt::format("--no-sender-log recovers nothing: not with {}", option));
  }
  if (job.protocol != wire::Protocol::pessimist) return usage("--no-sender-log: with protocol pessimist only");
  return {};
}

std::expected<void, UsageError> fill_job(const Whole& whole, const Words& environment, Job& job) {
  job.spare_count = whole.spares;
  job.event_logger_count = whole.event_loggers;
  if (whole.protocol == "none") {
    job.protocol = wire::Protocol::none;
  } else if (whole.protocol == "optimist") {
    job.protocol = wire::Protocol::optimist;
  } else if (!whole.protocol.empty() && whole.protocol != "pessimist") {
    return usage(fmt::format("--protocol {}: none, pessimist or optimist", whole.protocol));
  }
  if (auto filled = fill_level(whole, job); !filled) return filled;
  if (auto filled = fill_sender_log(whole, job); !filled) return filled;
  if (whole.large_messages == "direct") {
    job.large_messages = LargeMessages::direct;
  } else if (whole.large_messages == "copied") {
    job.large_messages = LargeMessages::copied;
  } else if (whole.large_messages != "auto") {
    return usage(fmt::format("--large-messages {}: auto, direct or copied", whole.large_messages));
  }
  if (Result<> read = read_collective_rules(whole.collectives, whole.collective, job.collective_rules); !read) {
    return usage(read.error().text);
  }
  // All of the table, so that a library that is replaced while the job runs does not change it (design rule 1).
  core::collectives::ChoiceTable table;
  table.replace(job.collective_rules);
  job.collective_rules = table.rules(job.protocol != wire::Protocol::none);
  if (auto filled = fill_nodes(whole, job); !filled) return filled;
  if (whole.on_divergence != "end" && whole.on_divergence != "warn") {
    return usage(fmt::format("--on-divergence {}: end or warn", whole.on_divergence));
  }
  job.divergence_is_fatal = whole.on_divergence == "end";
  if (whole.record_libc != "yes" && whole.record_libc != "no") return usage(fmt::format("--record-libc {}: yes or no", whole.record_libc));
  job.records_libc = whole.record_libc == "yes" && job.protocol != wire::Protocol::none;
  if (whole.order_threads != "asked" && whole.order_threads != "always") {
    return usage(fmt::format("--order-threads {}: asked or always", whole.order_threads));
  }
  job.orders_threads = whole.order_threads == "always" && job.protocol != wire::Protocol::none;
  if (job.orders_threads && !job.records_libc) return usage("--order-threads always needs what --record-libc no leaves out: say one of them");
  job.restarts_max = whole.restarts.value_or(restarts_by_default);
  if (job.restarts_max < 0 || job.restarts_max > restarts_most) return usage(fmt::format("--restarts {}: 0 to {}", job.restarts_max, restarts_most));
  job.log_memory_bytes = log_memory_of_machine;
  job.log_disk_bytes = log_disk_unlimited;
  std::string temporary = lookup(environment, "TMPDIR");
  job.log_directory = !whole.log_directory.empty() ? whole.log_directory : temporary.empty() ? "/var/tmp" : temporary;
  struct Size {
    const char* option;
    const std::string& text;
    std::uint64_t& bytes;
  };
  for (const Size& wanted : {Size{"--log-memory", whole.log_memory, job.log_memory_bytes},
                             Size{"--log-disk", whole.log_disk, job.log_disk_bytes},
                             Size{"--log-ready", whole.log_ready, job.log_ready_bytes},
                             Size{"--eager-limit", whole.eager_limit, job.eager_bytes}}) {
    if (wanted.text.empty()) continue;
    Result<std::uint64_t> size = parse_size(wanted.text);
    if (!size) return usage(fmt::format("{}: {}", wanted.option, size.error().text));
    wanted.bytes = *size;
  }
  if (!whole.eager_limit.empty() && (job.eager_bytes < eager_bytes_min || job.eager_bytes > eager_bytes_max)) {
    return usage(fmt::format("--eager-limit {}: 1K to 64M", whole.eager_limit));
  }
  job.log_ready_bytes = std::min(job.log_ready_bytes, job.log_memory_bytes / 2);
  for (const std::string& text : whole.inject) {
    if (Result<> parsed = parse_injections(text, job.rank_count(), job.agent_count(), job.injections); !parsed)
      return usage(parsed.error().text);
  }
  for (Injection& injection : job.injections) {
    const bool random = injection.kind == Injection::Kind::random || injection.kind == Injection::Kind::node_random ||
                        injection.kind == Injection::Kind::head_random;
    if (random && !injection.seed_given) injection.seed = randombytes_random();
  }
  return {};
}

// Of this job alone. `directory`: where the command was given.
Result<> choose_event_directory(const Whole& whole, const std::string& directory, Job& job) {
  if (!job.keeps_on_disk()) return {};
  randombytes_buf(&job.event_key, sizeof job.event_key);
  const bool given = !whole.event_directory.empty();
  Result<std::string> base = absolute(given ? "--event-dir" : "--log-dir", given ? whole.event_directory : job.log_directory, directory);
  if (!base) return std::unexpected(base.error());
  job.event_directory = fmt::format("{}/holdfast-events-{:016x}", *base, job.event_key);
  return {};
}

Result<> choose_files(const Whole& whole, const std::string& directory, RunOptions& out) {
  Result<std::string> report = absolute("--report", whole.report, directory), trace = absolute("--trace", whole.trace, directory);
  if (!report || !trace) return std::unexpected((report ? trace : report).error());
  out.report_path = *report;
  out.trace_path = *trace;
  return {};
}

}  // namespace

Result<std::uint64_t> parse_size(const std::string& text) {
  double value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit(end, text.data() + text.size());
  for (char& c : unit) c = static_cast<char>(std::toupper(c));
  if (unit.ends_with("IB")) unit.resize(unit.size() - 2);
  if (unit.ends_with("B")) unit.pop_back();
  constexpr std::string_view units = "KMGT";
  std::size_t power = unit.empty() ? 0 : units.find(unit) + 1;
  if (code != std::errc() || !(value >= 0) || unit.size() > 1 || (power == 0 && !unit.empty()) || value > 1e15) {
    return fail(fmt::format("'{}' is not a size (as 64M, 1.5G or a number of bytes)", text));
  }
  for (std::size_t i = 0; i < power; ++i) value *= 1024;
  constexpr double most = 0x1p50;  // more than any machine has
  return static_cast<std::uint64_t>(std::min(value, most));
}

std::string answer_of(const Words& words) {
  Section section;
  Whole whole;
  Words program;
  std::size_t at = 0;
  return parse_section(words, at, section, whole, program).value_or("");
}

std::expected<RunOptions, UsageError> parse_run(const Words& words, const Words& environment,
                                                const std::string& directory, const std::optional<Placement>& placed) {
  RunOptions out;
  Whole whole;
  std::vector<std::pair<Section, Words>> sections;
  std::size_t at = 0;
  do {
    Section section;
    Words program;
    auto answer = parse_section(words, at, section, whole, program);
    if (!answer) return std::unexpected(answer.error());
    if (out.answer = *answer; !out.answer.empty()) return out;
    sections.emplace_back(std::move(section), std::move(program));
  } while (at++ < words.size());  // over the ':'
  if (placed) {
    if (sections.size() > 1 || sections[0].first.count) return usage("the ranks are srun's tasks: -n and ':' are for holdfast run");
    sections[0].first.count = static_cast<int>(placed->node_of_rank.size());
  }
  for (auto& [section, program] : sections) {
    auto made = make_program(section, whole, program, environment, directory);
    if (!made) return std::unexpected(made.error());
    out.job.programs.push_back(std::move(*made));
  }
  if (sections.size() == 1 && !sections[0].first.count) out.job.programs[0].count = 0;
  if (whole.spares < 0 || whole.spares > spares_max) return usage(fmt::format("--spares {}: 0 to {}", whole.spares, spares_max));
  if (whole.event_loggers < 0 || whole.event_loggers > event_loggers_max) {
    return usage(fmt::format("--event-loggers {}: 0 to {}", whole.event_loggers, event_loggers_max));
  }
  const WithoutRanks without{whole.spares, whole.event_loggers};
  Result<> applied = placed ? apply(whole.placement, *placed, without, out)
                            : apply(whole.placement, environment, directory, without, out, whole.ignored_flags);
  if (!applied) return usage(applied.error().text);
  if (auto filled = fill_job(whole, environment, out.job); !filled) return std::unexpected(filled.error());
  if (Result<> chosen = choose_event_directory(whole, directory, out.job); !chosen) return usage(chosen.error().text);
  if (Result<> chosen = choose_files(whole, directory, out); !chosen) return usage(chosen.error().text);
  if (auto filled = fill_background(whole, placed.has_value(), out); !filled) return std::unexpected(filled.error());
  auto tree = tree_settings(whole.tree, out.job.agent_count(), out.job.agent_count() > 1 && out.job.protocol != wire::Protocol::none);
  if (!tree) return usage(tree.error().text);
  out.tree = *tree;
  out.on_node_loss = whole.on_node_loss == "end" ? OnNodeLoss::end : whole.on_node_loss == "spare" ? OnNodeLoss::spare : OnNodeLoss::spread;
  out.label = whole.label;
  out.verbose = whole.verbose;
  if (!whole.metrics.empty()) {
    Result<MetricsAddress> address = parse_metrics_address(whole.metrics);
    if (!address) return usage(fmt::format("--metrics: {}", address.error().text));
    out.metrics = *address;
  }
  std::ranges::sort(whole.ignored_flags);
  auto repeated = std::ranges::unique(whole.ignored_flags);
  whole.ignored_flags.erase(repeated.begin(), repeated.end());
  out.without_effect = whole.ignored_flags;
  return out;
}

}  // namespace hf::daemon
