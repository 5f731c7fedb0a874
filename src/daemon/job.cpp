#include "daemon/job.hpp"

#include <algorithm>

namespace hf::daemon {
namespace {

void put_texts(ByteWriter& out, const std::vector<std::string>& texts) {
  out.put(static_cast<std::uint32_t>(texts.size()));
  for (const std::string& text : texts) out.put_text(text);
}

std::vector<std::string> get_texts(ByteReader& in) {
  std::vector<std::string> texts;
  std::uint32_t n = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < n && in.ok(); ++i) texts.push_back(in.get_text());
  return texts;
}

bool get_flag(ByteReader& in) { return in.get<std::uint8_t>() != 0; }

constexpr std::int64_t ranks_max = 1 << 24;  // more than that is a damaged count

}  // namespace

int Job::rank_count() const {
  int n = 0;
  for (const Program& program : programs) n += program.count;
  return n;
}

int Job::program_of(int rank) const {
  int index = 0;
  while (rank >= programs[static_cast<std::size_t>(index)].count) {
    rank -= programs[static_cast<std::size_t>(index)].count;
    ++index;
  }
  return index;
}

int Job::local_rank(int rank) const {
  return static_cast<int>(std::count(node_of_rank.begin(), node_of_rank.begin() + rank, node_of(rank)));
}

int Job::local_size(int node) const {
  return static_cast<int>(std::ranges::count(node_of_rank, node));
}

std::string Job::log_level_name() const {
  std::string name = names_process || log_level == wire::LogLevel::process ? "process" : "";
  if (wire::includes(log_level, wire::LogLevel::node)) name += name.empty() ? "node" : "+node";
  if (wire::includes(log_level, wire::LogLevel::disk)) name += name.empty() ? "disk" : "+disk";
  return name;
}

void encode(const Job& job, std::vector<std::byte>& bytes) {
  ByteWriter out(bytes);
  out.put(static_cast<std::uint32_t>(job.programs.size()));
  for (const Program& program : job.programs) {
    out.put(program.count);
    out.put_text(program.path);
    put_texts(out, program.arguments);
    put_texts(out, program.environment);
    out.put_text(program.working_directory);
  }
  out.put(job.node_count);
  out.put(job.spare_count);
  out.put(job.event_logger_count);
  out.put(static_cast<std::uint32_t>(job.nodes.size()));
  for (const JobNode& node : job.nodes) out.put_text(node.name);
  for (std::int32_t node : job.node_of_rank) out.put(node);
  out.put(job.bind_to);
  out.put(job.oversubscribe);
  out.put(job.report_bindings);
  out.put(job.protocol);
  out.put(job.sender_log);
  out.put(job.log_level);
  out.put(job.names_process);
  out.put_text(job.event_directory);
  out.put(job.event_key);
  out.put(job.event_memory_bytes);
  out.put(job.event_copies);
  out.put(job.large_messages);
  out.put(job.eager_bytes);
  out.put(job.started_ns);
  out.put(job.divergence_is_fatal);
  out.put(job.records_libc);
  out.put(job.orders_threads);
  out.put(job.restarts_max);
  out.put(job.log_memory_bytes);
  out.put(job.log_disk_bytes);
  out.put(job.log_ready_bytes);
  out.put_text(job.log_directory);
  out.put(static_cast<std::uint32_t>(job.collective_rules.size()));
  for (const wire::CollectiveRule& rule : job.collective_rules) out.put(rule);
  out.put(static_cast<std::uint32_t>(job.injections.size()));
  for (const Injection& injection : job.injections) {
    out.put(injection.kind);
    out.put(injection.rank);
    out.put(injection.at_ns);
    out.put(injection.call);
    out.put_text(injection.point);
    out.put(injection.rate_per_s);
    out.put(injection.seed);
    out.put(injection.kills_max);
  }
}

bool decode(Bytes bytes, Job& job) {
  ByteReader in(bytes);
  std::uint32_t programs = in.get<std::uint32_t>();
  std::int64_t ranks = 0;
  for (std::uint32_t i = 0; i < programs && in.ok(); ++i) {
    Program program;
    program.count = in.get<int>();
    program.path = in.get_text();
    program.arguments = get_texts(in);
    program.environment = get_texts(in);
    program.working_directory = in.get_text();
    ranks += program.count;
    if (program.count < 1 || ranks > ranks_max) return false;
    job.programs.push_back(std::move(program));
  }
  job.node_count = in.get<int>();
  job.spare_count = in.get<int>();
  job.event_logger_count = in.get<int>();
  std::uint32_t nodes = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < nodes && in.ok(); ++i) job.nodes.push_back({in.get_text()});
  for (int i = 0; i < ranks && in.ok(); ++i) job.node_of_rank.push_back(in.get<std::int32_t>());
  job.bind_to = in.get<BindTo>();
  job.oversubscribe = get_flag(in);
  job.report_bindings = get_flag(in);
  job.protocol = in.get<wire::Protocol>();
  job.sender_log = get_flag(in);
  job.log_level = in.get<wire::LogLevel>();
  job.names_process = get_flag(in);
  job.event_directory = in.get_text();
  job.event_key = in.get<std::uint64_t>();
  job.event_memory_bytes = in.get<std::uint64_t>();
  job.event_copies = in.get<int>();
  job.large_messages = in.get<LargeMessages>();
  job.eager_bytes = in.get<std::uint64_t>();
  job.started_ns = in.get<std::int64_t>();
  job.divergence_is_fatal = get_flag(in);
  job.records_libc = get_flag(in);
  job.orders_threads = get_flag(in);
  job.restarts_max = in.get<int>();
  job.log_memory_bytes = in.get<std::uint64_t>();
  job.log_disk_bytes = in.get<std::uint64_t>();
  job.log_ready_bytes = in.get<std::uint64_t>();
  job.log_directory = in.get_text();
  std::uint32_t rules = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < rules && in.ok(); ++i) job.collective_rules.push_back(in.get<wire::CollectiveRule>());
  std::uint32_t injections = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < injections && in.ok(); ++i) {
    Injection injection;
    injection.kind = in.get<Injection::Kind>();
    injection.rank = in.get<int>();
    injection.at_ns = in.get<std::int64_t>();
    injection.call = in.get<std::uint64_t>();
    injection.point = in.get_text();
    injection.rate_per_s = in.get<double>();
    injection.seed = in.get<std::uint64_t>();
    injection.kills_max = in.get<std::uint64_t>();
    job.injections.push_back(std::move(injection));
  }
  const bool on_nodes = std::ranges::all_of(job.node_of_rank, [&](int node) { return node >= 0 && node < job.node_count; });
  const bool named = job.node_count >= 1 && job.spare_count >= 0 && job.event_logger_count >= 0 &&
                     std::ssize(job.nodes) - job.node_count - job.spare_count == job.event_logger_count;
  return in.ok() && in.left() == 0 && on_nodes && named && job.event_copies >= 1 && job.event_copies <= event_copies_max;
}

}  // namespace hf::daemon
