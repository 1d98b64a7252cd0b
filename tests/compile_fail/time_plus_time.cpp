#include "sim/base/units.hpp"

using namespace ridgeline;

#ifdef FORBIDDEN
auto sum(Time a, Time b) { return a + b; }  // two instants have no sum
#else
auto sum(Time a, Duration b) { return a + b; }
#endif
