#include "sim/base/units.hpp"

using namespace ridgeline;

void transfer(Bytes);

#ifdef FORBIDDEN
void call() { transfer(80); }  // 80 of what?
#else
void call() { transfer(Bytes{80}); }
#endif
