// What the head gives an agent at its start and when it is to take ranks over: the ticket, the job, an adoption; and what an agent tells
// a head that goes on for a lost one: a report.
#include "daemon/job.hpp"

#include "base/check.hpp"
#include "daemon/adoption.hpp"
#include "daemon/agent_report.hpp"
#include "daemon/launcher/agent_ticket.hpp"
#include "fuzz.hpp"

namespace hf::fuzz {
namespace {

constexpr int ranks = 6, agents = 4;
enum class Which : std::uint8_t { ticket, job, adoption, report, count };

daemon::Job some_job(Random& random) {
  daemon::Job job;
  job.programs.push_back({static_cast<int>(1 + random() % 4), "/bin/true", {"true", "x"}, {"A=b"}, "/"});
  job.node_count = 2;
  job.spare_count = 1;
  job.nodes = {{"a"}, {"b"}, {"c"}};
  for (int rank = 0; rank < job.rank_count(); ++rank) job.node_of_rank.push_back(rank % 2);
  job.injections.push_back({.kind = daemon::Injection::Kind::at_point, .point = "send:1"});
  job.collective_rules.emplace_back();
  return job;
}

void check(const daemon::Job& job) {
  HF_CHECK(job.rank_count() == std::ssize(job.node_of_rank) && job.agent_count() == std::ssize(job.nodes));
  if (job.rank_count() > 1000) return;
  for (int rank = 0; rank < job.rank_count(); ++rank) {
    HF_CHECK(job.program_of(rank) < std::ssize(job.programs) && job.local_rank(rank) < job.local_size(job.node_of(rank)));
    touch(bytes_of(job.node_name(job.node_of(rank))));
  }
}

}  // namespace

Octets sample(Random& random) {
  Octets out{static_cast<std::byte>(random())};
  ByteWriter writer(out);
  switch (static_cast<Which>(std::to_integer<unsigned>(out[0]) % static_cast<unsigned>(Which::count))) {
    case Which::ticket: {
      daemon::AgentTicket ticket;
      ticket.build = daemon::own_build();
      ticket.port = 1;
      ticket.address_count = 2;
      writer.put(ticket);
      break;
    }
    case Which::job: encode(some_job(random), out); break;
    case Which::report: {
      daemon::AgentReport report;
      for (int rank = 0; rank < ranks; ++rank) {
        if (random() % 3 == 0) report.hosted.push_back({rank, static_cast<std::uint32_t>(random()), 1, 0, 0});
        else report.heard.push_back({rank, static_cast<std::uint32_t>(random())});
        if (random() % 2 == 0) report.sought.push_back(rank);
      }
      encode(report, out);
      break;
    }
    default: {
      daemon::Adoption adoption;
      for (std::uint64_t i = random() % 4 + 1; i > 0; --i) adoption.ranks.push_back({static_cast<std::int32_t>(random() % ranks), 22, 1});
      for (std::uint64_t i = random() % 3; i > 0; --i) adoption.places.push_back({static_cast<std::int32_t>(random() % agents), {}});
      encode(adoption, out);
    }
  }
  return out;
}

void take(Bytes input) {
  if (input.empty()) return;
  const auto which = static_cast<Which>(std::to_integer<unsigned>(input[0]) % static_cast<unsigned>(Which::count));
  input = input.subspan(1);
  if (which == Which::ticket) {
    const auto ticket = ByteReader(input).get<daemon::AgentTicket>();
    if (plausible(ticket)) touch(std::as_bytes(std::span(ticket.addresses).first(ticket.address_count)));
  } else if (which == Which::job) {
    daemon::Job job;
    if (decode(input, job)) check(job);
  } else if (which == Which::report) {
    auto report = daemon::decode_report(input, ranks);
    if (!report) return;
    for (const auto& hosted : report->hosted) HF_CHECK(hosted.rank >= 0 && hosted.rank < ranks);
    for (const auto& heard : report->heard) HF_CHECK(heard.rank >= 0 && heard.rank < ranks);
    for (std::int32_t rank : report->sought) HF_CHECK(rank >= 0 && rank < ranks);
  } else if (daemon::Adoption adoption; decode(input, ranks, agents, adoption)) {
    HF_CHECK(std::ssize(adoption.ranks) == adoption.head.rank_count && std::ssize(adoption.ranks) <= ranks);
    for (const daemon::AdoptedRank& rank : adoption.ranks) HF_CHECK(told_of(rank).present.size() <= rank.present.size());
    for (const daemon::AgentAddress& place : adoption.places) HF_CHECK(place.node >= 0 && place.node < agents);
  }
}

}  // namespace hf::fuzz
