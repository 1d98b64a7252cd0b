#include "sim/base/id.hpp"

using namespace ridgeline;

void visit(PoolId);

#ifdef FORBIDDEN
void call(ReplicaId id) { visit(id); }
#else
void call(PoolId id) { visit(id); }
#endif
