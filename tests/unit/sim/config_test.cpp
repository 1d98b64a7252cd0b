#include "sim/base/config.hpp"

#include <fmt/format.h>

#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

std::string message_of(const std::string& yaml) {
  try {
    Config::parse(yaml, "x.yaml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("every mistake of a map is reported at once, with its place") {
  const Config config = Config::parse("size: 80\nblock_sise: 16\nrate: .nan\nname: [1]\n", "x.yaml");
  Diagnostics errors;
  MapReader reader(config, errors);
  reader.require<Bytes>("size");
  reader.get<std::int64_t>("block_size", 16);
  reader.get<double>("rate", 1.0);
  reader.get<std::string>("name", "");
  reader.require<std::int64_t>("layers");
  reader.done();
  REQUIRE(errors.size() == 5);
  CHECK_THROWS_WITH(errors.throw_if_any(), Catch::Contains("x.yaml:1:7: size: `80` needs a unit") &&
                                               Catch::Contains("x.yaml:2:13: block_sise: unknown key; did you mean `block_size`?") &&
                                               Catch::Contains("x.yaml:3:7: rate: expected a number") &&
                                               Catch::Contains("name: expected text, got a list") &&
                                               Catch::Contains("layers: is missing"));
}

TEST_CASE("quantities carry their unit") {
  const Config config = Config::parse("{a: 80 GiB, b: 3.35 TB/s, c: 2 ms, d: 32k, e: \"1 GB\", f: 10/s}", "x.yaml");
  Diagnostics errors;
  MapReader reader(config, errors);
  CHECK(reader.require<Bytes>("a") == 80_GiB);
  CHECK(reader.require<BytesPerSecond>("b") == BytesPerSecond{3.35e12});
  CHECK(reader.require<Duration>("c") == Duration::milliseconds(2));
  CHECK(reader.require<Tokens>("d") == Tokens{32768});
  CHECK(reader.require<Bytes>("e") == Bytes{1'000'000'000});
  CHECK(reader.require<RequestsPerSecond>("f") == RequestsPerSecond{10.0});
  CHECK(errors.empty());
}

TEST_CASE("documents that are no documents are refused with a place") {
  CHECK_THAT(message_of("a: 1\na: 2\n"), Catch::Contains("x.yaml:2:1: a: duplicate key, first given at line 1"));
  CHECK_THAT(message_of("a: [1, 2\nb: 3\n"), Catch::Contains("not valid YAML"));
  CHECK_THAT(message_of("a: {x: &r [*r]}\n"), Catch::Contains("x.yaml:1"));
  CHECK_THROWS_AS(Config::load("/no/such/file.yaml"), ConfigError);
  CHECK_THROWS_WITH(Config::load("/tmp"), Catch::Contains("is a directory"));
}

TEST_CASE("an alias bomb is refused, not expanded") {
  // Nine levels of nine aliases: 9^9 values.
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += fmt::format("a{0}: &a{0} [*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1}]\n", i, i - 1);
  }
  CHECK_THAT(message_of(bomb), Catch::Contains("aliases expanded"));
}

TEST_CASE("overrides replace, add and keep their place") {
  const Config config = Config::parse("fleet:\n  - gpu: a\n    n: 1\n", "x.yaml");
  const Config changed = config.with("fleet[0].engine.block_size", Config::make_scalar("32", {"--set", 0, 0}, ""));
  const auto value = changed.find("fleet")->at(0).find("engine")->find("block_size");
  REQUIRE(value);
  CHECK(value->scalar() == "32");
  CHECK(value->path() == "fleet[0].engine.block_size");
  CHECK(config.find("fleet")->at(0).size() == 2);
  CHECK_THROWS_WITH(config.with("fleet[3].gpu", Config::make_scalar("b", {}, "")), Catch::Contains("no item [3]"));
  CHECK_THROWS_WITH(config.with("fleet[0].gpu.x", Config::make_scalar("b", {}, "")), Catch::Contains("not a map"));
  CHECK(Config::parse(changed.to_yaml(), "y").to_yaml() == changed.to_yaml());
}
