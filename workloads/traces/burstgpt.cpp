// BurstGPT (github.com/HPMLL/BurstGPT, KDD'25, CC-BY-4.0). Releases 1 and 2: `Timestamp,Model,Request tokens,Response
// tokens, Total tokens,Log Type`; release 3 inserts `Session ID,Elapsed time`, so columns go by name. Timestamp counts
// seconds from midnight of day 1. Failed requests have 0 response tokens (often 0 of all).
#include "workloads/traces/format.hpp"

namespace ridgeline {

TraceFormat burstgpt_format() {
  TraceFormat format;
  format.name = "burstgpt";
  format.description = "BurstGPT releases 1 to 3, CSV";
  format.fields = {{"Timestamp", Role::time},
                   {"Request tokens", Role::input},
                   {"Response tokens", Role::output},
                   {"Session ID", Role::session}};
  format.origin = TraceConfig::Origin::first_row;
  format.matches = [](const TraceHead& head) {
    return !head.jsonl && head.has_all({"Timestamp", "Request tokens", "Response tokens"});
  };
  return format;
}

}  // namespace ridgeline
