// One run of the simulator: agents start, messages flow, faults strike, and everything must settle.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/host.hpp"

namespace hf::sim {

struct Scenario {
  CoreOptions cores;
  NetworkOptions network;
  std::uint64_t seed = 1;
  double kill = 0;             // fraction of the agents that die
  double silent = 0.5;         // of these: lost with their node; the others' connections close
  bool at_once = false;        // all in the same instant; else within half a second
  int stop = 0;                // processes that are stopped for two seconds and continued
  int hiccup = 0;              // stopped for a quarter of a second: nobody may take them for dead
  bool stop_head = false;      // the head too is stopped for two seconds
  int partitions = 0;          // 0 or 1: a subtree is cut off for three seconds
  int lose_connections = 0;    // between an agent and its parent
  bool busy = false;           // every timer is late by up to a fifth of a second, on all nodes
  bool messages = true;        // traffic of the application during all that
};

struct Cost {
  double frames_mean = 0;  // of an agent, heartbeats not counted
  std::uint64_t frames_max = 0;
  double heartbeats_mean = 0;
  std::uint64_t bytes = 0;  // in all
  int rounds = 0;           // longest chain of frames
  double seconds = 0;
};

struct Outcome {
  Cost start;                  // until every agent has heard that all have joined
  Cost heal;                   // from the first fault until all living agree on who is dead
  double found_max_seconds = 0;  // from a death to the head's decision
  int dead = 0;
  std::uint32_t version = 0;
  std::vector<std::string> violations;
};

Outcome run(const Scenario& scenario);

}  // namespace hf::sim
