// Catch2 in either header layout: distributions ship v2 (catch.hpp) or v3 (catch_all.hpp).
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
