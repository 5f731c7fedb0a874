// The user's wishes about the algorithms of collectives (core/collectives/choice.hpp): a file with a table, and single ones.
//
// The file is JSON: {"rules": [{"collective": "bcast", "algorithm": "linear", "nodes": 1, "ranks": 4, "bytes": 0}, ...]}. What is left
// out of nodes and ranks is 1, of bytes 0; "logging": true or false makes it a rule for jobs that log messages, or that do not. Other
// members beside "rules" are for readers. `bench/run.py --tune` writes such a file.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "wire/collective_rule.hpp"

namespace hf::daemon {

using CollectiveRules = std::vector<wire::CollectiveRule>;

// The rules of the text of such a file. Errors name the rule, counted from 1.
Result<CollectiveRules> parse_collective_rules(std::string_view text);

// `file`: path, empty: none. `single`: words NAME=ALGORITHM; each takes the place of all rules of its collective.
Result<> read_collective_rules(const std::string& file, const std::vector<std::string>& single, CollectiveRules& rules);

}  // namespace hf::daemon
