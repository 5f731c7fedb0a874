// An agent that writes, one that takes over, and a disk that keeps what was synced, and of the rest what it likes (docs/event-files.md,
// Transcripts).
#include "core/event_logger/file_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace hf::core::event_logger {
namespace {

constexpr FileName name{0x77, 0};
constexpr Hosting first{Rank{1}, Term{0}};

struct Disk {
  std::vector<std::byte> written, synced;
  std::set<Hosting> over;
  // The machine of the writer is lost: of what was not synced the first `kept` bytes were written by themselves.
  std::vector<std::byte> after_loss(std::size_t kept) const {
    std::vector<std::byte> file = written;
    for (std::size_t at = synced.size() + kept; at < file.size(); ++at) file[at] = std::byte{};
    return file;
  }
};

class Writer {
 public:
  explicit Writer(Disk& disk) : disk_(disk) {}
  void append(std::uint64_t position, std::size_t count, std::uint32_t term = 0) {
    const std::vector<std::byte> bytes(count, std::byte{1});
    writer.on_record({.rank = Rank{1}, .term = Term{term}, .position = position, .bytes = bytes});
  }
  FileWriter::Step step() {
    const FileWriter::Step step = writer.next();
    if (step == FileWriter::Step::write) {
      EXPECT_EQ(writer.place(), disk_.written.size());
      disk_.written.insert(disk_.written.end(), writer.batch().begin(), writer.batch().end());
      writer.on_written();
    } else if (step == FileWriter::Step::sync) {
      disk_.synced = disk_.written;
      writer.on_synced();
    } else if (step == FileWriter::Step::look) {
      std::vector<Hosting> over = writer.hostings();
      std::erase_if(over, [&](const Hosting& hosting) { return !disk_.over.contains(hosting); });
      writer.on_looked(over);
    }
    for (FileWriter::Stable stable; writer.poll_stable(stable);) told = stable.extent.end;
    for (Hosting hosting; writer.poll_over(hosting);) ended = true;
    return step;
  }
  void run() {
    while (step() != FileWriter::Step::none) continue;
  }
  FileWriter writer{name};
  std::uint64_t told = 0;
  bool ended = false;

 private:
  Disk& disk_;
};

std::uint64_t taken(Disk& disk, const std::vector<std::byte>& file) {
  disk.over.insert(first);
  std::map<Rank, Found> found;
  EXPECT_NE(find_in(file, name, {{Rank{1}, Term{1}}}, found).end, FileEnd::damaged);
  return found[Rank{1}].bytes.size();
}

TEST(FileWriter, ABatchIsAllThatCameMeanwhile) {
  Disk disk;
  Writer a(disk);
  EXPECT_EQ(a.writer.next(), FileWriter::Step::none);
  a.append(0, 16);
  a.append(16, 16);
  EXPECT_EQ(a.step(), FileWriter::Step::write);
  a.append(32, 16);
  EXPECT_EQ(a.step(), FileWriter::Step::sync);
  EXPECT_EQ(a.told, 0u);
  EXPECT_EQ(a.step(), FileWriter::Step::look);
  EXPECT_EQ(a.told, 32u) << "what came later is of the next batch";
  a.run();
  EXPECT_EQ(a.told, 48u);
  EXPECT_EQ(taken(disk, disk.synced), 48u);
}

// Wherever the machine of the writer is lost, whatever the disk had written by itself: what was told is there.
TEST(FileWriter, WhatWasToldIsOnDisk) {
  for (int steps = 0; steps <= 6; ++steps) {
    for (std::size_t kept = 0; kept <= 160; kept += 8) {
      Disk disk;
      Writer a(disk);
      a.append(0, 48);
      for (int n = 0; n < steps; ++n) {
        if (n == 3) a.append(48, 48);
        a.step();
      }
      EXPECT_GE(taken(disk, disk.after_loss(kept)), a.told) << steps << " steps, " << kept << " bytes";
    }
  }
}

// The taker comes between any two steps of a writer that lives on: what it does not read was told to nobody.
TEST(FileWriter, FenceAndWriteCross) {
  for (int steps = 0; steps <= 6; ++steps) {
    Disk disk;
    Writer a(disk);
    a.append(0, 48);
    a.run();
    a.append(48, 16);
    for (int n = 0; n < steps && n < 3; ++n) a.step();
    const std::uint64_t read = taken(disk, disk.synced);
    a.run();
    a.append(64, 16);
    a.run();
    EXPECT_LE(a.told, read) << steps;
    EXPECT_TRUE(a.ended);
  }
}

TEST(FileWriter, AHostingThatIsOverIsNotTheNextOne) {
  Disk disk;
  Writer a(disk);
  disk.over.insert(first);
  a.append(0, 16, 1);
  a.run();
  EXPECT_EQ(a.told, 16u);
  EXPECT_FALSE(a.ended);
}

TEST(FileWriter, ARankThatIsRolledBackGoesOnFromItsCut) {
  Disk disk;
  Writer a(disk);
  a.append(0, 48);
  a.run();
  a.append(48, 16);
  a.writer.on_record({.kind = FileRecord::Kind::cut, .rank = Rank{1}, .term = Term{1}, .position = 32});
  a.append(64, 16);  // was on its way
  a.append(0, 0, 1);
  a.run();
  EXPECT_EQ(a.told, 32u);
  a.append(32, 16, 1);
  a.run();
  EXPECT_EQ(a.told, 48u);
  std::map<Rank, Found> found;
  EXPECT_EQ(find_in(disk.synced, name, {{Rank{1}, Term{2}}}, found).end, FileEnd::whole);
  EXPECT_EQ(found[Rank{1}].bytes.size(), 48u);
  EXPECT_EQ(found[Rank{1}].term, Term{1});
}

TEST(FileWriter, InBothPlacesIsWhatEachHas) {
  const Sender::Extent both = in_both({48, TestClock{3}}, {32, TestClock{5}});
  EXPECT_EQ(both.end, 32u);
  EXPECT_EQ(both.last_failed, TestClock{3});
}

}  // namespace
}  // namespace hf::core::event_logger
