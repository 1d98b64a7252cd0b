#include "sim/base/units.hpp"

using namespace ridgeline;

#ifdef FORBIDDEN
auto sum(Bytes a, Tokens b) { return a + b; }
#else
auto sum(Bytes a, Bytes b) { return a + b; }
#endif
