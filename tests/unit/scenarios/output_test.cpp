// Files that are whole or absent, and exact decimals.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "scenarios/report/atomic_file.hpp"
#include "scenarios/report/decimal.hpp"
#include "scenarios/report/text.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

using namespace ridgeline;
namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "ridgeline-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

std::string content(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("A file appears when it is complete") {
  const Folder folder;
  const fs::path file = folder.path / "out.csv";
  {
    AtomicFile out(file.string());
    out.write("half");
  }
  CHECK(folder.entries() == 0);
  AtomicFile out(file.string());
  out.write("whole\n");
  CHECK_FALSE(fs::exists(file));
  out.commit();
  CHECK(content(file) == "whole\n");
  CHECK(folder.entries() == 1);
}

TEST_CASE("An old file stays until the new one is complete") {
  const Folder folder;
  const fs::path file = folder.path / "out.csv";
  std::ofstream(file) << "old";
  {
    AtomicFile out(file.string());
    out.write("new");
    CHECK(content(file) == "old");
  }
  CHECK(content(file) == "old");
  AtomicFile out(file.string());
  out.write("new");
  out.commit();
  CHECK(content(file) == "new");
  CHECK(folder.entries() == 1);
}

TEST_CASE("What can't be written is named") {
  const Folder folder;
  CHECK_THROWS_AS(AtomicFile(folder.path.string()), ConfigError);
  CHECK_THROWS_AS(AtomicFile((folder.path / "absent" / "out").string()), ConfigError);
  if (fs::exists("/dev/full")) {
    AtomicFile full("/dev/full");
    full.write("x");
    CHECK_THROWS_WITH(full.commit(), "/dev/full: cannot write: No space left on device");
  }
}

TEST_CASE("Exact decimals without trailing zeros") {
  CHECK(seconds_text(Duration::picoseconds(3'429'000'000)) == "0.003429");
  CHECK(seconds_text(Duration::milliseconds(10)) == "0.01");
  CHECK(seconds_text(Duration{}) == "0");
  CHECK(seconds_text(Duration::milliseconds(2000)) == "2");
  CHECK(seconds_text(Duration::picoseconds(1)) == "0.000000000001");
  CHECK(milliseconds_text(Duration::microseconds(1500)) == "1.5");
  CHECK(microseconds_text(Duration::picoseconds(-1'500'000)) == "-1.5");
}

TEST_CASE("Numbers for people") {
  CHECK(grouped(19366) == "19,366");
  CHECK(grouped(-1000) == "-1,000");
  CHECK(grouped(999) == "999");
  CHECK(si(1.35e10, "FLOP") == "13.5 GFLOP");
  CHECK(binary_bytes(0x1p19) == "512 KiB");
  CHECK(figure(12345.6) == "12,346");
  CHECK(percent(0.0732) == "7.3 %");
}
