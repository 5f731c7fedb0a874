// For tests: transcripts. A file is a list of blocks; a block is command lines, a line of four dashes, the expected
// output, an empty line. Lines beginning with '#' before a block are its comment. The test gives a function from one
// command to its output. HOLDFAST_REWRITE=1 writes what is said now into the file: read the difference before you keep it.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace hf {

struct TranscriptBlock {
  int line = 0;
  std::string comment, commands, expected;
};

// The transcripts of a directory, by name, without ".txt".
inline std::vector<std::string> transcripts_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::vector<TranscriptBlock> read_transcript(const std::string& path) {
  std::ifstream in(path);
  std::vector<TranscriptBlock> blocks;
  TranscriptBlock block;
  bool output = false;
  int number = 0;
  auto close = [&] {
    if (block.line) blocks.push_back(std::exchange(block, {}));
    output = false;
  };
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) {
      if (block.line) close();
      else if (!block.comment.empty()) block.comment += "\n";
    } else if (output) {
      block.expected += line + "\n";
    } else if (line == "----") {
      output = true;
    } else if (line[0] == '#' && !block.line) {
      block.comment += line + "\n";
    } else {
      if (!block.line) block.line = number;
      block.commands += line + "\n";
    }
  }
  close();
  return blocks;
}

// Runs a transcript; returns one text for each block that differs. Empty: it passed.
inline std::vector<std::string> run_transcript(const std::string& path,
                                               const std::function<std::string(const std::string&)>& command) {
  auto blocks = read_transcript(path);
  std::vector<std::string> failures;
  if (blocks.empty()) failures.push_back(path + ": no blocks");
  std::string rewritten;
  for (const TranscriptBlock& block : blocks) {
    std::string said;
    std::istringstream commands(block.commands);
    for (std::string line; std::getline(commands, line);) said += command(line);
    rewritten += (rewritten.empty() ? "" : "\n") + block.comment + block.commands + "----\n" + said;
    if (said == block.expected) continue;
    failures.push_back(path + ":" + std::to_string(block.line) + ":\n" + block.commands + "---- expected\n" + block.expected +
                       "---- said\n" + said);
  }
  if (std::getenv("HOLDFAST_REWRITE")) std::ofstream(path) << rewritten;
  return failures;
}

}  // namespace hf
